// A control chart: likeness of scores as dots, its moving average as a line within limits, signals and new models marked.
export default function (data, look) {
  const days = data.periods.map((one) => one.period.slice(0, 10));
  const of = (name) => data.periods.map((one) => one[name]);
  const band = data.periods.map((one) => (one.upper === null || one.lower === null ? null : one.upper - one.lower));
  const marked = (test) => data.periods.map((one) => (test(one) ? one.z ?? one.x : null));
  const dots = (name, values, symbol, size, colour, hollow) => ({
    name, type: "scatter", data: values, symbol, symbolSize: size, z: 5,
    itemStyle: hollow ? { color: "transparent", borderColor: colour, borderWidth: 2 } : { color: colour },
  });
  const limit = (name, values, more) => ({
    name, type: "line", data: values, symbol: "none", stack: "limits", lineStyle: { color: look.muted, width: 1, type: "dashed" }, ...more,
  });
  return {
    grid: { left: 8, right: 12, top: 36, bottom: 8, containLabel: true },
    legend: { type: "scroll", top: 0, textStyle: { color: look.text }, data: [data.names.x, data.names.z, data.names.limits, data.names.out, data.names.new] },
    tooltip: { trigger: "axis" },
    xAxis: { type: "category", data: days, axisLabel: { color: look.muted }, axisLine: { lineStyle: { color: look.line } } },
    yAxis: { type: "value", scale: true, axisLabel: { color: look.muted }, splitLine: { lineStyle: { color: look.line } } },
    series: [
      limit("lower", of("lower"), { tooltip: { show: false } }),
      limit(data.names.limits, band, { areaStyle: { color: look.band, opacity: 0.35 }, lineStyle: { width: 0 }, itemStyle: { color: look.band } }),
      dots(data.names.x, of("x"), "circle", 6, look.muted),
      { name: data.names.z, type: "line", data: of("z"), symbol: "none", lineStyle: { color: look.accent, width: 2 }, itemStyle: { color: look.accent }, connectNulls: false },
      dots(data.names.out, marked((one) => one.status === "below" || one.status === "above"), "diamond", 13, look.bot),
      dots(data.names.new, marked((one) => one.answer === "promoted a new model"), "rect", 14, look.bot, true),
    ],
  };
}
