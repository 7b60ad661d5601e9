// Suspected accounts that have something in common; a bar leads to them.
export default function (data, look) {
  const parts = [...data.parts].reverse();
  return {
    tooltip: { formatter: (one) => `${one.name}\n${data.words.n}: ${one.value.toLocaleString()}${one.data.share === null ? "" : `\n${data.words.share}: ${(one.data.share * 100).toFixed(1)} %`}` },
    grid: { left: 4, right: 56, bottom: 4, top: 4, containLabel: true },
    xAxis: { type: "value", axisLabel: { color: look.muted }, splitLine: { lineStyle: { color: look.line } } },
    yAxis: { type: "category", data: parts.map((one) => one.name), axisLabel: { color: look.text, width: look.narrow ? 90 : 160, overflow: "truncate" } },
    series: [{
      type: "bar", itemStyle: { color: look.accent }, cursor: "pointer",
      label: { show: true, position: "right", color: look.muted, formatter: (one) => (one.data.share === null ? one.value.toLocaleString() : `${(one.data.share * 100).toFixed(0)} %`) },
      data: parts.map((one) => ({ value: one.n, share: one.share, to: one.to })),
    }],
  };
}
