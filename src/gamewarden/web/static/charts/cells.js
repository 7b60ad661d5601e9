// A map of a zone: the darker a square, the more events suspected accounts had in it.
export default function (data, look) {
  const { side, words } = data;
  const cells = data.cells.map(([x, y, events, suspected]) => ({ x, y, events, suspected }));
  const steps = (key) => [...new Set(cells.map((one) => one[key] / side))];
  const range = (values) => { const low = Math.min(...values); const high = Math.max(...values); return Array.from({ length: high - low + 1 }, (_, at) => low + at); };
  const xs = range(steps("x"));
  const ys = range(steps("y"));
  const most = Math.max(1, ...cells.map((one) => one.suspected));
  const axis = (values) => ({ type: "category", data: values.map((one) => String(one * side)), axisLabel: { color: look.muted }, splitArea: { show: false } });
  return {
    animation: false,
    tooltip: { formatter: (one) => `${one.value[0] * side + xs[0] * side}, ${one.value[1] * side + ys[0] * side}\n${words.n}: ${one.value[2].toLocaleString()}\n${words.all}: ${one.value[3].toLocaleString()}` },
    grid: { left: 8, right: 8, bottom: 56, top: 8, containLabel: true },
    xAxis: axis(xs),
    yAxis: axis(ys),
    visualMap: { min: 0, max: most, dimension: 2, calculable: true, orient: "horizontal", left: "center", bottom: 0, textStyle: { color: look.text }, inRange: { color: look.ramp } },
    series: [{ type: "heatmap", data: cells.map((one) => [one.x / side - xs[0], one.y / side - ys[0], one.suspected, one.events]) }],
  };
}
