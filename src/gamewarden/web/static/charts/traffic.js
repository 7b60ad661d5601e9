// Windows of packets over time: how many tests say bot, or for whoever judges blind the numbers alone.
export default function (data, look) {
  const words = data.words;
  const label = { color: look.muted };
  const time = { type: "time", axisLabel: { ...label, hideOverlap: true }, axisLine: { lineStyle: { color: look.line } }, splitLine: { show: false } };
  const split = { lineStyle: { color: look.line, opacity: 0.5 } };
  if (data.votes) {
    return {
      useUTC: true,
      grid: { left: 40, right: 16, top: 32, bottom: 28 },
      xAxis: time,
      yAxis: { type: "value", min: 0, max: 3, interval: 1, name: words.votes, nameTextStyle: { ...label, align: "left" }, axisLabel: label, splitLine: split },
      series: [{
        type: "scatter", symbolSize: 9,
        data: data.at.map((at, place) => ({ value: [at, data.votes[place]], symbol: data.bot[place] ? "rect" : "circle", itemStyle: { color: data.bot[place] ? look.bot : look.human } })),
        tooltip: { formatter: (seen) => `${new Date(seen.value[0]).toISOString().slice(11, 19)}\n${words.votes}: ${seen.value[1]}${seen.data.symbol === "rect" ? `\n${words.bot}` : ""}` },
      }],
    };
  }
  const names = Object.keys(data.numbers);
  return {
    useUTC: true,
    grid: { left: 48, right: 16, top: look.narrow ? 84 : 48, bottom: 28 },
    legend: { top: 0, textStyle: label, data: names.map((name) => words[name] ?? name) },
    xAxis: time,
    yAxis: { type: "value", min: 0, axisLabel: label, splitLine: split },
    series: names.map((name, place) => ({
      type: "line", name: words[name] ?? name, showSymbol: true, symbolSize: 5, data: data.at.map((at, number) => [at, data.numbers[name][number]]),
      markLine: data.people[name] == null ? undefined : { silent: true, symbol: "none", precision: 3, lineStyle: { type: "dashed", color: look.series[place] }, label: { show: false }, data: [{ yAxis: data.people[name] }] },
    })),
  };
}
