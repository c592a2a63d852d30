// The map of states: laid out by d3-force, which is deterministic, and drawn by ECharts.
// On a canvas: with thousands of lines, SVG is several times slower when zooming.
"use strict";
(() => {
  const { element, share, painted, mapViews, mapList } = capscope;
  const place = document.getElementById("map-chart");
  if (!place) return;
  const capabilityChoice = document.getElementById("map-capability");
  const stateChoice = document.getElementById("map-state");
  const panel = document.getElementById("state");
  const viewButtons = [...document.querySelectorAll("[data-view]")];
  const list = document.getElementById("map-list");
  const narrow = matchMedia("(max-width: 40rem)");
  const MOST_LABELS = 60;
  const MOST_IF_NARROW = 16;
  const COLOURS = ["accent", "good", "ink", "line-strong", "odd", "raised", "soft"];
  let drawn, nodes, colours;
  let name = viewButtons.find((b) => b.ariaPressed === "true")?.dataset.view ?? "states";
  let zoom = 1;
  let labelled = true;
  const view = () => mapViews[name];

  // --- what is on the map ---

  const crowded = () => nodes.length > MOST_LABELS && zoom < Math.sqrt(nodes.length / MOST_LABELS);
  const numbered = (text) => (text === "" ? null : Number(text));

  /** Compute a position for each point: points with transitions between them are close. */
  function laidOut() {
    const { points, edges } = view();
    const most = Math.max(1, ...points.map(({ weight }) => weight));
    // The more points, the smaller, so that they always cover a similar area.
    const largest = Math.max(10, Math.min(name === "groups" ? 44 : 28, 180 / Math.sqrt(points.length)));
    const placed = points.map((point) => ({
      ...point,
      size: largest * (0.35 + 0.65 * Math.sqrt(point.weight / most)),
    }));
    const index = new Map(points.map(({ id }, i) => [id, i]));
    const joined = new Map();
    for (const [source, target] of edges) {
      const [a, b] = [index.get(source), index.get(target)].sort((x, y) => x - y);
      if (a !== b && b !== undefined) joined.set(`${a} ${b}`, { source: a, target: b });
    }
    // Labels of groups are long, so their points are farther apart.
    const apart = name === "groups" ? 2.4 : 1;
    libraries
      .forceSimulation(placed)
      .force("links", libraries.forceLink([...joined.values()]).distance(50 * apart))
      .force("apart", libraries.forceManyBody().strength(-140 * apart * apart))
      .force(
        "collide",
        libraries.forceCollide((point) => point.size / 2 + 6 * apart),
      )
      .force("x", libraries.forceX().strength(0.04))
      .force("y", libraries.forceY().strength(0.06))
      .stop()
      .tick(300);
    // Labels are wide, so groups need more room beside each other than above each other.
    if (name === "groups") for (const point of placed) point.x *= 1.5;
    return placed;
  }

  /** Select the lines to draw: of one capability, or the likeliest of all between two points. */
  function lines(capability) {
    const best = new Map();
    for (const edge of view().edges) {
      const [source, target, number, probability] = edge;
      if (source === target || (capability !== null && number !== capability)) continue;
      const key = `${source} ${target}`;
      if (!(best.get(key)?.[3] >= probability)) best.set(key, edge);
    }
    return [...best.values()];
  }

  /** Return whether labels would lie on top of each other, so that a list is shown instead. */
  const isListed = () =>
    narrow.matches && (name === "groups" || view().points.length > MOST_IF_NARROW);

  // --- drawing ---

  function option() {
    colours = painted(COLOURS);
    labelled = !crowded();
    const capability = numbered(capabilityChoice.value);
    const chosen = numbered(stateChoice.value);
    const shown = lines(capability);
    const touched = new Set(shown.flatMap(([source, target]) => [source, target]));
    const few = shown.length < 600;
    return {
      animation: false,
      textStyle: { fontFamily: getComputedStyle(document.body).fontFamily },
      tooltip: {
        renderMode: "richText",
        confine: true,
        formatter: label,
        backgroundColor: colours.raised,
        borderColor: colours["line-strong"],
        textStyle: { color: colours.ink, fontSize: 12 },
      },
      series: [
        {
          type: "graph",
          layout: "none",
          roam: true,
          scaleLimit: { min: 0.4, max: 12 },
          left: 30,
          // Labels are to the right of their points.
          right: name === "groups" ? Math.min(150, place.clientWidth / 3) : 45,
          top: 30,
          bottom: 30,
          preserveAspect: "contain",
          nodeScaleRatio: 0.4,
          selectedMode: false,
          emphasis: { scale: false },
          labelLayout: { hideOverlap: true },
          edgeSymbol: ["none", "arrow"],
          edgeSymbolSize: few ? 7 : 4,
          data: nodes.map((node) =>
            point(node, chosen, capability === null || touched.has(node.id)),
          ),
          links: shown.map((edge) => line(edge, chosen, few)),
        },
      ],
    };
  }

  function point({ id, name: text, initial, size, x, y }, chosen, involved) {
    const isChosen = id === chosen;
    return {
      id: String(id),
      name: text,
      x,
      y,
      symbolSize: size,
      itemStyle: {
        color: isChosen ? colours.odd : initial ? colours.accent : colours.good,
        opacity: involved || isChosen ? 1 : 0.25,
        borderColor: colours.raised,
        borderWidth: 1,
      },
      label: {
        show: isChosen || (involved && labelled),
        position: "right",
        distance: 3,
        fontSize: 11,
        lineHeight: 13,
        // Lines pass behind labels.
        textBorderColor: colours.raised,
        textBorderWidth: 3,
        color: isChosen ? colours.ink : colours.soft,
        fontWeight: isChosen ? 700 : 400,
      },
    };
  }

  function line([source, target, , probability], chosen, few) {
    const leaves = source === chosen;
    return {
      source: String(source),
      target: String(target),
      value: probability,
      lineStyle: {
        width: 0.4 + (few ? 2.6 : 1.4) * probability,
        curveness: 0.12,
        color: leaves ? colours.odd : colours.soft,
        opacity: leaves ? 0.9 : few ? 0.55 : 0.22,
      },
    };
  }

  const label = ({ dataType, data }) =>
    dataType === "edge" ? `${share(data.value)} of executions` : view().tooltip(Number(data.id));

  function draw(centre) {
    if (!drawn) return;
    const wanted = option();
    if (centre) wanted.series[0].center = [centre.x, centre.y];
    drawn.setOption(wanted);
  }

  /** Show the list instead of the chart, or the other way round. */
  function arrange() {
    const listed = isListed();
    document.getElementById("map").classList.toggle("listed", listed);
    if (!listed) return;
    const capability = numbered(capabilityChoice.value);
    const touched = new Set(lines(capability).flatMap(([source, target]) => [source, target]));
    mapList.fill(list, view(), (id) => capability === null || touched.has(id));
  }

  function begin() {
    if (drawn || isListed()) return;
    nodes = laidOut();
    drawn = libraries.init(place, null, { renderer: "canvas" });
    draw();
    drawn.on("graphroam", ({ zoom: factor }) => {
      zoom *= factor ?? 1;
      if (labelled === crowded()) draw();
    });
    drawn.on(
      "click",
      ({ dataType, data }) => dataType === "node" && choose(Number(data.id), false),
    );
    new ResizeObserver(() => place.clientWidth && drawn.resize()).observe(place);
  }

  // --- choosing ---

  function choose(id, centred = true) {
    stateChoice.value = String(id);
    if (isListed() && mapList.open(list, id)) {
      panel.replaceChildren();
      return;
    }
    panel.replaceChildren(...view().described(id).filter(Boolean));
    // When zoomed in, the point may be out of sight.
    draw(centred && zoom > 1 ? nodes?.find((node) => node.id === id) : undefined);
  }

  /** Show states or groups. */
  function show(wanted) {
    name = wanted;
    for (const button of viewButtons)
      button.setAttribute("aria-pressed", String(button.dataset.view === wanted));
    zoom = 1;
    if (drawn) {
      nodes = laidOut();
      drawn.clear();
    }
    fillChoices();
    arrange();
    choose(0);
  }

  function follow() {
    const [, kind, id] = /^#(state|group)-(\d+)$/.exec(location.hash) ?? [];
    const wanted = `${kind}s`;
    if (kind === undefined || !mapViews[wanted].choices[id]) return;
    begin();
    if (name !== wanted) show(wanted);
    choose(Number(id));
    const entry = isListed() ? mapList.open(list, id) : null;
    (entry ?? document.getElementById("map")).scrollIntoView();
    stateChoice.focus({ preventScroll: true });
  }

  function fillChoices() {
    const leading = new Set(view().edges.map(([, , number]) => number));
    capabilityChoice.replaceChildren(element("option", { value: "" }, "all"));
    capscope.data.capabilities.forEach(({ intent }, number) => {
      if (leading.has(number))
        capabilityChoice.append(element("option", { value: number }, capscope.said(intent)));
    });
    const options = view().choices.map(([id, text]) => element("option", { value: id }, text));
    stateChoice.replaceChildren(...options);
  }

  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      begin();
      if (button.dataset.zoom === "reset") {
        zoom = 1;
        drawn.clear();
        draw();
        return;
      }
      const centre = { originX: drawn.getWidth() / 2, originY: drawn.getHeight() / 2 };
      drawn.dispatchAction({
        type: "graphRoam",
        seriesIndex: 0,
        zoom: Number(button.dataset.zoom),
        ...centre,
      });
    });
  }
  for (const button of viewButtons)
    button.addEventListener("click", () => show(button.dataset.view));
  capabilityChoice.addEventListener("change", () => {
    arrange();
    draw();
  });
  narrow.addEventListener("change", () => {
    arrange();
    begin();
    choose(Number(stateChoice.value));
  });
  stateChoice.addEventListener("change", () => choose(Number(stateChoice.value)));
  document.addEventListener("themechange", () => draw());
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", begin);

  fillChoices();
  arrange();
  choose(0);
  // The layout takes a moment, so it is computed when the map comes into view.
  new IntersectionObserver((seen) => seen.some((entry) => entry.isIntersecting) && begin(), {
    rootMargin: "400px",
  }).observe(place);
  follow();
})();
