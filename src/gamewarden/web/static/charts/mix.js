// The share of each kind as a bar, and where 80 % of people lie as a line across it with a tick at their median.
export default function (data, look) {
  const words = data.words;
  const label = { color: look.muted };
  const spans = data.people.map((one, place) => (one ? [place, ...one] : null)).filter(Boolean);
  return {
    grid: { left: look.narrow ? 112 : 168, right: 24, top: 28, bottom: 28 },
    legend: { top: 0, textStyle: label, data: [words.account, words.people], itemWidth: 16 },
    xAxis: { type: "value", min: 0, axisLabel: { ...label, formatter: (value) => `${Math.round(value * 100)} %` }, splitLine: { lineStyle: { color: look.line, opacity: 0.5 } } },
    yAxis: { type: "category", data: data.kinds, axisLabel: { color: look.text, width: look.narrow ? 100 : 156, overflow: "truncate" }, axisTick: { show: false }, axisLine: { lineStyle: { color: look.line } } },
    series: [
      { type: "bar", name: words.account, data: data.shares, barMaxWidth: 12, itemStyle: { color: look.accent, opacity: 0.6 }, tooltip: { formatter: (seen) => `${seen.name}\n${words.account} ${(seen.value * 100).toFixed(1)} %` } },
      {
        type: "custom", name: words.people, data: spans, encode: { y: 0, x: [1, 2, 3] }, itemStyle: { color: look.human }, z: 5,
        tooltip: { formatter: (seen) => `${data.kinds[seen.value[0]]}\n${words.median} ${(seen.value[2] * 100).toFixed(1)} %\n${words.people} ${(seen.value[1] * 100).toFixed(1)}–${(seen.value[3] * 100).toFixed(1)} %` },
        renderItem: (_params, api) => {
          const [place, low, middle, high] = [0, 1, 2, 3].map((number) => api.value(number));
          const [from, y] = api.coord([low, place]);
          const [to] = api.coord([high, place]);
          const [mid] = api.coord([middle, place]);
          const style = { stroke: look.human, lineWidth: 3, fill: look.human };
          return { type: "group", children: [
            { type: "line", shape: { x1: from, y1: y, x2: Math.max(to, from + 1), y2: y }, style },
            { type: "line", shape: { x1: mid, y1: y - 6, x2: mid, y2: y + 6 }, style },
          ] };
        },
      },
    ],
  };
}
