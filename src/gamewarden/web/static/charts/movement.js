// The way through a zone, the squares to which it came back, and in grey where everybody was.
export default function (data, look) {
  const words = data.words;
  const label = { color: look.muted };
  const axis = { type: "value", scale: true, axisLabel: { ...label, hideOverlap: true }, axisLine: { lineStyle: { color: look.line } }, splitLine: { lineStyle: { color: look.line, opacity: 0.4 } } };
  const most = Math.max(1, ...data.squares.map((square) => square[2]));
  const crowded = Math.max(1, ...data.crowd.map((square) => square[2]));
  const size = (share) => 3 + 19 * Math.sqrt(share);
  const ends = data.way.length ? [{ value: data.way[0], name: words.start, symbol: "triangle" }, { value: data.way[data.way.length - 1], name: words.end, symbol: "diamond" }] : [];
  return {
    animation: false,
    legend: { top: 0, textStyle: label, data: [words.crowd, words.way, words.squares] },
    grid: { left: 52, right: 16, top: 32, bottom: 32 },
    xAxis: axis, yAxis: axis,
    series: [
      { type: "scatter", name: words.crowd, silent: true, data: data.crowd, symbolSize: (value) => size(value[2] / crowded) * 0.8, itemStyle: { color: look.muted, opacity: 0.25 } },
      { type: "line", name: words.way, data: data.way, showSymbol: false, lineStyle: { color: look.accent, width: 1, opacity: 0.55 }, itemStyle: { color: look.accent }, silent: true },
      { type: "scatter", name: words.squares, data: data.squares, symbolSize: (value) => size(value[2] / most), itemStyle: { color: look.bot, opacity: 0.55 }, tooltip: { formatter: (seen) => `${seen.value[0]}, ${seen.value[1]}\n${words.visits} ${seen.value[2]}` } },
      { type: "scatter", data: ends, symbolSize: 12, itemStyle: { color: look.text }, tooltip: { formatter: (seen) => seen.name } },
    ],
  };
}
