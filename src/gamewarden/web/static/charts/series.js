// The windows of a day above, how alike those of each hour are below; people's band in both, pulses across both.
function band(values, look, words) {
  if (!values) return {};
  return {
    markArea: { silent: true, itemStyle: { color: look.band, opacity: 0.35 }, data: [[{ yAxis: values[0] }, { yAxis: values[2] }]] },
    markLine: { silent: true, symbol: "none", precision: 6, lineStyle: { color: look.human, type: "dashed" }, label: { formatter: words.median, color: look.human, position: "insideEndTop" }, data: [{ yAxis: values[1] }] },
  };
}

function pulses(data, look, words) {
  return {
    type: "line", data: [], silent: true,
    markArea: {
      silent: true, itemStyle: { color: look.bot, opacity: 0.22 }, label: { show: true, color: look.bot, position: "insideTop" },
      data: data.pulses.map(([from, to]) => [{ name: words.pulse, xAxis: from }, { xAxis: to }]),
    },
  };
}

export default function (data, look) {
  const words = data.words;
  const axis = (index, more) => ({ type: "time", gridIndex: index, min: data.from, max: data.to, axisLine: { lineStyle: { color: look.line } }, axisLabel: { color: look.muted, hideOverlap: true }, splitLine: { show: false }, ...more });
  const up = (index, name, more) => ({ type: "value", gridIndex: index, name, nameLocation: "end", nameTextStyle: { color: look.muted, align: "left" }, axisLabel: { color: look.muted }, splitLine: { lineStyle: { color: look.line, opacity: 0.5 } }, ...more });
  const heights = data.spans.map((point) => point[1]).concat(data.spanBand ?? [], data.bot ?? [], data.own ?? []);
  const lowest = heights.length ? Math.min(...heights) : 0.9;
  const lower = band(data.spanBand, look, words);
  if (data.bot !== null) {
    lower.markLine ??= { silent: true, symbol: "none", precision: 6, data: [] };
    lower.markLine = { ...lower.markLine, data: [...lower.markLine.data, { yAxis: data.bot, lineStyle: { color: look.bot, type: "dotted" }, label: { formatter: words.bot, color: look.bot, position: "insideStartBottom" } }] };
  }
  if (data.own !== null) {
    lower.markLine ??= { silent: true, symbol: "none", precision: 6, data: [] };
    lower.markLine = { ...lower.markLine, data: [...lower.markLine.data, { yAxis: data.own, lineStyle: { color: look.accent, type: "dashed" }, label: { formatter: words.own, color: look.accent, position: "insideMiddleBottom" } }] };
  }
  return {
    useUTC: true,
    animation: false,
    grid: [{ left: 56, right: 16, top: 28, height: "46%" }, { left: 56, right: 16, top: "63%", bottom: 44 }],
    xAxis: [axis(0, { axisLabel: { show: false } }), axis(1)],
    yAxis: [up(0, words.cosine, { min: 0 }), up(1, words.span, { min: Math.floor((lowest - 0.001) * 500) / 500, max: 1, axisLabel: { color: look.muted, formatter: (value) => value.toFixed(3) } })],
    dataZoom: [{ type: "inside", xAxisIndex: [0, 1], zoomOnMouseWheel: "ctrl" }, { type: "slider", xAxisIndex: [0, 1], height: 14, bottom: 4, borderColor: look.line, textStyle: { color: look.muted } }],
    tooltip: { trigger: "item" },
    series: [
      {
        type: "scatter", xAxisIndex: 0, yAxisIndex: 0, name: words.window, symbolSize: 4, itemStyle: { color: look.accent, opacity: 0.75 }, large: false,
        data: data.windows.map((point, place) => ({ value: point, events: data.events[place], kind: data.kinds[place] })),
        tooltip: { formatter: (seen) => `${new Date(seen.value[0]).toISOString().slice(11, 16)}\n${words.cosine} ${seen.value[1]}\n${words.events} ${seen.data.events}${seen.data.kind ? `\n${words.most} ${seen.data.kind}` : ""}` },
        ...band(data.band, look, words),
      },
      { ...pulses(data, look, words), xAxisIndex: 0, yAxisIndex: 0 },
      {
        type: "line", xAxisIndex: 1, yAxisIndex: 1, name: words.span, showSymbol: data.spans.length < 40, symbolSize: 4, lineStyle: { color: look.accent, width: 2 }, itemStyle: { color: look.accent }, data: broken(data.spans),
        tooltip: { formatter: (seen) => `${new Date(seen.value[0]).toISOString().slice(11, 16)}\n${seen.value[1]}` },
        ...lower,
      },
      { ...pulses(data, look, { ...words, pulse: "" }), xAxisIndex: 1, yAxisIndex: 1 },
    ],
  };
}

// A line is interrupted where spans do not follow each other.
function broken(points) {
  const steps = points.slice(1).map((point, place) => point[0] - points[place][0]);
  const usual = Math.min(...steps);
  return points.flatMap((point, place) => (place && steps[place - 1] > 1.5 * usual ? [[point[0] - 1, null], point] : [point]));
}
