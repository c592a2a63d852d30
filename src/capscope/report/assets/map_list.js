// The map as a list, for narrow screens: its points, and for each where capabilities lead from it.
"use strict";
capscope.mapList = (() => {
  const { element, counted, grouped, term } = capscope;
  const MOST_ROWS = 24;
  const MOST_ATOMS = 4;

  /** List the atoms of a point, in full if there are few. */
  function atoms(all) {
    const shown = all.slice(0, MOST_ATOMS).flatMap((atom) => [term(atom), " "]);
    if (all.length > MOST_ATOMS) shown.push(`and ${all.length - MOST_ATOMS} more`);
    return shown;
  }

  function row(view, { id, weight, initial }, most) {
    const { title, unit, holding } = view.entry(id);
    const heading = element(
      "summary",
      {},
      element("span", { class: "map-name" }, title, ...atoms(holding)),
      element("span", { class: "map-weight" }, counted(weight, unit)),
      element("meter", { min: 0, max: most, value: weight, "aria-hidden": "true" }),
    );
    if (initial) heading.firstChild.append(element("span", { class: "soft" }, "(the beginning)"));
    const made = element("details", { name: "map-row", "data-point": id }, heading);
    made.addEventListener("toggle", () => {
      // What is inside is made when it is first seen.
      if (made.open && made.children.length === 1)
        made.append(element("div", {}, ...view.described(id).filter(Boolean)));
    });
    return made;
  }

  /** Fill a place with the points of a view, the beginning first, then the largest. */
  function fill(place, view, involved) {
    const points = view.points
      .filter(({ id }) => involved(id))
      .toSorted((a, b) => b.initial - a.initial || b.weight - a.weight);
    const shown = points.slice(0, MOST_ROWS);
    const most = Math.max(1, ...shown.map(({ weight }) => weight));
    const more = points.length - shown.length;
    const why = "A list, because the screen is narrow. Open an entry to see where capabilities lead.";
    place.replaceChildren(
      element("p", { class: "soft" }, why),
      ...shown.map((point) => row(view, point, most)),
    );
    if (more)
      place.append(element("p", { class: "soft" }, `${grouped(more)} more can be chosen below.`));
  }

  /** Open the entry of a point and return it; null if it is not in the list. */
  function open(place, id) {
    const found = place.querySelector(`[data-point="${id}"]`);
    if (found) found.open = true;
    return found;
  }

  return { fill, open };
})();
