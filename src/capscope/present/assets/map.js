// The map of states: laid out by d3-force, which is deterministic, and drawn by ECharts.
// On a canvas: with thousands of lines, SVG is several times slower when zooming.
"use strict";
(() => {
  const { element, picture, counted, share, painted } = capscope;
  const place = document.getElementById("map-chart");
  if (!place) return;
  const capabilityChoice = document.getElementById("map-capability");
  const stateChoice = document.getElementById("map-state");
  const panel = document.getElementById("state");
  const FIRST = "s0";
  const MOST_NAMED = 8;
  const MOST_LABELS = 60;
  const COLOURS = ["accent", "good", "ink", "line-strong", "odd", "raised", "soft"];
  let drawn, nodes, colours;
  let zoom = 1;
  let labelled = true;

  // --- what is on the map ---

  const crowded = () => nodes.length > MOST_LABELS && zoom < Math.sqrt(nodes.length / MOST_LABELS);
  const numbered = (text) => (text === "" ? null : Number(text));

  /** Compute a position for each state: states with transitions between them are close. */
  function laidOut() {
    const { map, states } = capscope.data;
    const most = Math.max(1, ...map.states.map((position) => states[position][2]));
    // The more points, the smaller, so that they always cover a similar area.
    const largest = Math.max(10, Math.min(28, 180 / Math.sqrt(map.states.length)));
    const points = map.states.map((position) => ({
      position,
      size: largest * (0.35 + 0.65 * Math.sqrt(states[position][2] / most)),
    }));
    const index = new Map(map.states.map((position, i) => [position, i]));
    const joined = new Map();
    for (const [source, target] of map.edges) {
      const [a, b] = [index.get(source), index.get(target)].sort((x, y) => x - y);
      if (a !== b && b !== undefined) joined.set(`${a} ${b}`, { source: a, target: b });
    }
    libraries
      .forceSimulation(points)
      .force("links", libraries.forceLink([...joined.values()]).distance(50))
      .force("apart", libraries.forceManyBody().strength(-140))
      .force(
        "collide",
        libraries.forceCollide((point) => point.size / 2 + 6),
      )
      .force("x", libraries.forceX().strength(0.04))
      .force("y", libraries.forceY().strength(0.06))
      .stop()
      .tick(300);
    return points;
  }

  /** Select the lines to draw: of one capability, or the likeliest of all between two states. */
  function lines(capability) {
    const best = new Map();
    for (const edge of capscope.data.map.edges) {
      const [source, target, number, probability] = edge;
      if (source === target || (capability !== null && number !== capability)) continue;
      const key = `${source} ${target}`;
      if (!(best.get(key)?.[3] >= probability)) best.set(key, edge);
    }
    return [...best.values()];
  }

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
          right: 45,
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
            point(node, chosen, capability === null || touched.has(node.position)),
          ),
          links: shown.map((edge) => line(edge, chosen, few)),
        },
      ],
    };
  }

  function point({ position, size, x, y }, chosen, involved) {
    const isChosen = position === chosen;
    const [name] = capscope.data.states[position];
    return {
      id: String(position),
      name,
      x,
      y,
      symbolSize: size,
      itemStyle: {
        color: isChosen ? colours.odd : name === FIRST ? colours.accent : colours.good,
        opacity: involved || isChosen ? 1 : 0.25,
        borderColor: colours.raised,
        borderWidth: 1,
      },
      label: {
        show: isChosen || (involved && labelled),
        position: "right",
        distance: 3,
        fontSize: 11,
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

  function label({ dataType, data }) {
    if (dataType === "edge") return `${share(data.value)} of draws`;
    const [name, atoms, executions] = capscope.data.states[data.id];
    const named = atoms.slice(0, MOST_NAMED);
    if (atoms.length > MOST_NAMED) named.push(`and ${atoms.length - MOST_NAMED} more`);
    return [`${name}: ${counted(executions, "execution")}`, ...named].join("\n");
  }

  function draw(centre) {
    if (!drawn) return;
    const wanted = option();
    if (centre) wanted.series[0].center = [centre.x, centre.y];
    drawn.setOption(wanted);
  }

  function begin() {
    if (drawn) return;
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
    new ResizeObserver(() => drawn.resize()).observe(place);
  }

  // --- choosing ---

  function choose(position, centred = true) {
    stateChoice.value = String(position);
    panel.replaceChildren(...described(position));
    // When zoomed in, the state may be out of sight.
    draw(centred && zoom > 1 ? nodes?.find((node) => node.position === position) : undefined);
  }

  /** Describe a state: what holds, its picture, and where each capability leads. */
  function described(position) {
    const [name, atoms, executions, address] = capscope.data.states[position];
    const leaving = capscope.data.map.edges
      .filter(([source]) => source === position)
      .toSorted((a, b) => a[2] - b[2] || b[3] - a[3]);
    return [
      element("p", { class: "soft" }, `${name}: ${counted(executions, "execution")} started here.`),
      picture(address, `Picture of ${name}`),
      element(
        "ul",
        { class: "atoms" },
        ...atoms.map((atom) => element("li", { class: "term" }, atom)),
      ),
      element("h3", {}, "Where capabilities lead from here"),
      leaving.length
        ? leads(leaving, position)
        : element("p", { class: "soft" }, "To no other state on the map."),
    ].filter(Boolean);
  }

  function leads(leaving, position) {
    return element(
      "table",
      {},
      element(
        "tbody",
        {},
        ...leaving.map(([, target, number, probability, draws]) => {
          const { intent, anchor } = capscope.data.capabilities[number];
          const to = capscope.data.states[target][0];
          return element(
            "tr",
            {},
            element("td", {}, element("a", { class: "term", href: `#${anchor}` }, intent)),
            element(
              "td",
              {},
              target === position ? "stays" : element("a", { href: `#state-${target}` }, to),
            ),
            element("td", { class: "number" }, share(probability)),
            element("td", { class: "number soft" }, counted(draws, "draw")),
          );
        }),
      ),
    );
  }

  function follow() {
    const position = /^#state-(\d+)$/.exec(location.hash)?.[1];
    if (position === undefined || !capscope.data.states[position]) return;
    begin();
    choose(Number(position));
    document.getElementById("map").scrollIntoView();
    stateChoice.focus({ preventScroll: true });
  }

  function fillChoices() {
    const { capabilities, map, states } = capscope.data;
    const leading = new Set(map.edges.map(([, , number]) => number));
    capabilities.forEach(({ intent }, number) => {
      if (leading.has(number))
        capabilityChoice.append(element("option", { value: number }, intent));
    });
    const placed = new Set(map.states);
    states.forEach(([name, , executions], position) => {
      const remark = placed.has(position) ? "" : ", not on the map";
      stateChoice.append(
        element(
          "option",
          { value: position },
          `${name} (${counted(executions, "execution")}${remark})`,
        ),
      );
    });
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
  capabilityChoice.addEventListener("change", () => draw());
  stateChoice.addEventListener("change", () => choose(Number(stateChoice.value)));
  document.addEventListener("themechange", () => draw());
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", begin);

  fillChoices();
  choose(0);
  // The layout takes a moment, so it is computed when the map comes into view.
  new IntersectionObserver((seen) => seen.some((entry) => entry.isIntersecting) && begin(), {
    rootMargin: "400px",
  }).observe(place);
  follow();
})();
