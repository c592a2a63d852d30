// The learning curve, the coverage and the spending, drawn by ECharts in the colors of the page.
"use strict";
(() => {
  const { grouped, share } = capscope;
  // SVG takes its colors from the page, so they follow the color scheme, also in print.
  const colour = (name) => `var(--${name})`;
  const PARTS = ["good", "good-bar", "odd-bar", "idle-bar", "accent", "odd"];
  const logAxis = document.getElementById("log-axis");

  function chart(id, option) {
    const place = document.getElementById(id);
    const drawn = libraries.init(place, null, { renderer: "svg" });
    const draw = () => drawn.setOption({ ...common(), ...option() }, { notMerge: true });
    draw();
    new ResizeObserver(() => drawn.resize()).observe(place);
    return draw;
  }

  function common() {
    return {
      animation: false,
      textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: colour("ink") },
    };
  }

  // Rich text is drawn and never parsed as HTML, whatever a name contains.
  const tooltip = () => ({
    renderMode: "richText",
    backgroundColor: colour("raised"),
    borderColor: colour("line-strong"),
    textStyle: { color: colour("ink"), fontSize: 12 },
    confine: true,
  });
  const axis = (name, more = {}) => ({
    name,
    nameTextStyle: { color: colour("soft") },
    axisLabel: { color: colour("soft"), ...more.axisLabel },
    axisLine: { lineStyle: { color: colour("line-strong") } },
    splitLine: { lineStyle: { color: colour("line") } },
    ...Object.fromEntries(Object.entries(more).filter(([key]) => key !== "axisLabel")),
  });

  function learning() {
    const points = capscope.data.learning;
    const log = logAxis.checked;
    const used = log ? points.filter(([executions]) => executions > 0) : points;
    const line = (name, column, tone, yAxisIndex, type) => ({
      name,
      type: "line",
      yAxisIndex,
      symbol: used.length < 3 ? "circle" : "none",
      data: used.map((p) => [p[0], p[column]]),
      lineStyle: { color: colour(tone), width: 2, type },
      itemStyle: { color: colour(tone) },
    });
    const series = [
      line("agreement with the final model", 1, "good", 0, "solid"),
      line("pairs tried", 2, "odd", 1, "dashed"),
      line("transitions seen", 3, "accent", 1, "dotted"),
      ...audited(log),
    ];
    return {
      grid: { left: 8, right: 8, top: 62, bottom: 24, containLabel: true },
      legend: {
        data: series.map(({ name, areaStyle }) => ({ name, icon: areaStyle && "roundRect" })),
        top: 0,
        left: 0,
        textStyle: { color: colour("ink") },
        itemWidth: 26,
        itemHeight: 2,
        inactiveColor: colour("soft"),
      },
      tooltip: { ...tooltip(), trigger: "axis", formatter: label },
      xAxis: axis("executions", {
        type: log ? "log" : "value",
        nameLocation: "middle",
        nameGap: 26,
        max: "dataMax",
        axisLabel: { formatter: grouped, hideOverlap: true, alignMaxLabel: "right" },
        splitLine: { show: false },
      }),
      yAxis: [
        axis("agreement", {
          type: "value",
          min: 0,
          max: 1,
          nameGap: 10,
          axisLabel: { formatter: share },
        }),
        axis("pairs, transitions", {
          type: "value",
          min: 0,
          nameGap: 10,
          nameTextStyle: { align: "right", color: colour("soft") },
          splitLine: { show: false },
          axisLabel: { formatter: grouped },
        }),
      ],
      series,
    };
  }

  /** Shade the executions of the audit: as an area of its own, so that the legend names it. */
  function audited(log) {
    const audit = capscope.data.audit;
    if (!audit) return [];
    const first = Math.max(audit.first, log ? 1 : 0);
    return [
      {
        name: audit.passed ? "audit, passed" : "audit, not finished",
        type: "line",
        symbol: "none",
        z: 1,
        data: [
          [first, 1],
          [audit.last, 1],
        ],
        lineStyle: { color: colour("accent"), width: 0 },
        itemStyle: { color: colour("accent") },
        areaStyle: { color: colour("accent"), opacity: 0.13 },
      },
    ];
  }

  function label(lines) {
    const at = `after ${grouped(lines[0].value[0])} executions`;
    return [
      at,
      ...lines.filter(({ seriesIndex }) => seriesIndex < 3).map(
        ({ seriesName, seriesIndex, value }) =>
          `${seriesName}: ${seriesIndex === 0 ? share(value[1]) : grouped(value[1])}`,
      ),
    ].join("\n");
  }

  function coverage() {
    const bins = capscope.data.coverage;
    return {
      grid: { left: 8, right: 48, top: 0, bottom: 0, containLabel: true },
      tooltip: {
        ...tooltip(),
        formatter: ({ name, value }) =>
          `${name} ${name === "1" ? "execution" : "executions"}: ` +
          `${grouped(value)} ${value === 1 ? "pair" : "pairs"}`,
      },
      xAxis: { type: "value", show: false },
      yAxis: axis("", {
        type: "category",
        inverse: true,
        data: bins.map(([name]) => name),
        axisTick: { show: false },
        axisLine: { show: false },
        axisLabel: { width: 120, overflow: "truncate" },
      }),
      series: [
        {
          type: "bar",
          barCategoryGap: "22%",
          data: bins.map(([name, pairs]) => ({
            value: pairs,
            itemStyle: { color: colour(name === "0" ? "idle-bar" : "good-bar") },
          })),
          label: {
            show: true,
            position: "right",
            color: colour("ink"),
            fontSize: 12,
            formatter: ({ value }) => grouped(value),
          },
        },
      ],
    };
  }

  function spending() {
    const parts = capscope.data.spending;
    const total = parts.reduce((sum, [, executions]) => sum + executions, 0);
    return {
      grid: { left: 0, right: 0, top: 8, bottom: 8 },
      tooltip: {
        ...tooltip(),
        formatter: ({ seriesName, value }) =>
          `${seriesName}: ${grouped(value)} executions, ${share(value / total)}`,
      },
      xAxis: { type: "value", max: total, show: false },
      yAxis: { type: "category", data: ["executions"], show: false },
      series: parts.map(([name, executions], i) => ({
        name,
        type: "bar",
        stack: "all",
        data: [executions],
        barWidth: "100%",
        itemStyle: {
          color: colour(PARTS[i % PARTS.length]),
          borderColor: colour("paper"),
          borderWidth: 1,
        },
        emphasis: { disabled: true },
      })),
    };
  }

  for (const [i, tone] of PARTS.entries()) {
    for (const swatch of document.querySelectorAll(`.swatch-${i}`))
      swatch.style.background = `var(--${tone})`;
  }
  // If nearly everything is learned in the first tenth, a linear scale wastes the rest.
  const points = capscope.data.learning;
  logAxis.checked = points.some(
    ([executions, agreement]) => agreement >= 0.9 && executions <= points.at(-1)[0] / 10,
  );
  const drawLearning = chart("learning-chart", learning);
  chart("coverage-chart", coverage);
  chart("spending-chart", spending);
  logAxis.addEventListener("change", drawLearning);
})();
