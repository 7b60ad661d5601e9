// How suspicion went from evidence to evidence, and where the rungs of the ladder begin.
export default function (data, look) {
  const label = { color: look.muted };
  const heights = [...data.moments.map((moment) => moment[1]), 0];
  const low = Math.min(...heights) - 0.5;
  const high = Math.max(...heights) + 1;
  return {
    useUTC: true,
    grid: { left: 44, right: 88, top: 24, bottom: 24 },
    xAxis: { type: "time", axisLabel: { ...label, hideOverlap: true }, axisLine: { lineStyle: { color: look.line } }, splitLine: { show: false } },
    yAxis: { type: "value", min: Math.floor(low), max: Math.ceil(high), name: data.words.suspicion, nameTextStyle: { ...label, align: "left" }, axisLabel: label, splitLine: { lineStyle: { color: look.line, opacity: 0.5 } } },
    series: [{
      type: "line", step: "end", data: data.moments.map(([at, score, kind, llr]) => ({ value: [at, score], kind, llr })), symbolSize: 7, lineStyle: { color: look.accent, width: 2 }, itemStyle: { color: look.accent },
      tooltip: { formatter: (seen) => `${seen.data.kind} ${seen.data.llr > 0 ? "+" : ""}${seen.data.llr}\n${seen.value[1]}` },
      markLine: { silent: true, symbol: "none", precision: 3, lineStyle: { type: "dashed", color: look.watch }, label: { color: look.watch, formatter: "{b}", position: "end" }, data: data.rungs.filter((rung) => rung.enter <= high).map((rung) => ({ name: rung.name, yAxis: rung.enter })) },
    }],
  };
}
