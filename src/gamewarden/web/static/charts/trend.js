// Bots a day: stacked bars of those to act on and to watch, lines of the listed and of the share, and marks of what happened.
export default function (data, look) {
  const { days, marks, words } = data;
  const names = days.map((one) => one.day);
  const lines = marks.filter((one) => names.includes(one.day))
    .map((one) => ({ xAxis: one.day, name: `${words[one.kind] ?? one.kind}: ${one.text}`, label: { formatter: words[one.kind] ?? one.kind } }));
  const bar = (name, key, colour, decal) => ({
    name, type: "bar", stack: "points", itemStyle: { color: colour, decal },
    data: days.map((one) => ({ value: one[key], to: one.url })),
  });
  return {
    legend: { top: 0, textStyle: { color: look.text }, itemWidth: 18, itemGap: 8 },
    tooltip: { trigger: "axis" },
    grid: { left: 8, right: 8, bottom: 4, top: look.narrow ? 96 : 60, containLabel: true },
    xAxis: { type: "category", data: names, axisLabel: { color: look.muted } },
    yAxis: [
      { type: "value", name: words.accounts, axisLabel: { color: look.muted }, nameTextStyle: { color: look.muted }, splitLine: { lineStyle: { color: look.line } } },
      { type: "value", name: words.rate, axisLabel: { color: look.muted, formatter: (value) => `${(value * 100).toFixed(1)} %` }, nameTextStyle: { color: look.muted }, splitLine: { show: false } },
    ],
    series: [
      { ...bar(words.act, "act", look.bot), markLine: { symbol: "none", silent: false, lineStyle: { color: look.text, type: "dashed" }, label: { color: look.text, rotate: 90, position: "insideEndTop" }, tooltip: { trigger: "item", formatter: "{b}" }, data: lines } },
      bar(words.watch, "watch", look.series[4], { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [1, 6], rotation: Math.PI / 4, color: "rgba(255,255,255,.5)" }),
      { name: words.listed, type: "line", symbol: "diamond", lineStyle: { type: "dotted", color: look.muted }, itemStyle: { color: look.muted }, data: days.map((one) => one.listed) },
      { name: words.rate, type: "line", yAxisIndex: 1, symbol: "circle", lineStyle: { color: look.accent }, itemStyle: { color: look.accent }, data: days.map((one) => one.rate) },
    ],
  };
}
