// Events by hour and day as colours, and above them how many people are there at that hour.
export default function (data, look) {
  const words = data.words;
  const hours = Array.from({ length: 24 }, (_, hour) => String(hour));
  const most = Math.max(1, ...data.cells.map((cell) => cell[2]));
  const people = data.people.length > 0;
  const grids = people ? [{ left: 84, right: 16, top: 12, height: 44 }, { left: 84, right: 16, top: 76, bottom: 64 }] : [{ left: 84, right: 16, top: 12, bottom: 64 }];
  const at = grids.length - 1;
  const label = { color: look.muted };
  const option = {
    grid: grids,
    xAxis: [{ type: "category", data: hours, gridIndex: at, axisLabel: { ...label, interval: look.narrow ? 5 : 2 }, axisTick: { show: false }, axisLine: { show: false }, name: words.hour, nameLocation: "middle", nameGap: 22, nameTextStyle: label }],
    yAxis: [{ type: "category", data: data.days, inverse: true, gridIndex: at, axisLabel: label, axisTick: { show: false }, axisLine: { show: false } }],
    visualMap: { min: 0, max: most, calculable: false, orient: "horizontal", left: "center", bottom: 0, itemHeight: 80, itemWidth: 10, text: [String(most), "0"], textStyle: label, inRange: { color: look.ramp }, seriesIndex: 0 },
    series: [{ type: "heatmap", xAxisIndex: 0, yAxisIndex: 0, data: data.cells, itemStyle: { borderColor: look.surface, borderWidth: 1 }, tooltip: { formatter: (seen) => `${data.days[seen.value[1]]} ${seen.value[0]}:00\n${seen.value[2]} ${words.events}` } }],
  };
  if (people) {
    option.xAxis.push({ type: "category", data: hours, gridIndex: 0, axisLabel: { show: false }, axisTick: { show: false }, axisLine: { lineStyle: { color: look.line } } });
    option.yAxis.push({ type: "value", gridIndex: 0, min: 0, max: 1, interval: 1, name: words.people, nameLocation: "start", nameGap: 4, nameTextStyle: { ...label, align: "right", verticalAlign: "bottom", padding: [0, 6, 6, 0] }, axisLabel: { ...label, formatter: (value) => `${value * 100} %` }, splitLine: { lineStyle: { color: look.line } } });
    option.series.push({ type: "bar", xAxisIndex: 1, yAxisIndex: 1, data: data.people, itemStyle: { color: look.human }, tooltip: { formatter: (seen) => `${seen.name}:00\n${Math.round(seen.value * 100)} % ${words.people}` } });
  }
  return option;
}
