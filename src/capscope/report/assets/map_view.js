// What the map can show: single states, or groups of states that agree in what matters.
// A view has points (id, name, weight, whether the run began there), lines and descriptions.
"use strict";
capscope.mapViews = (() => {
  const { element, picture, counted, share, said, term } = capscope;
  const MOST_NAMED = 8;
  const MOST_IN_LABEL = 3;
  const FIRST = "s0";

  function listed(atoms) {
    const named = atoms.slice(0, MOST_NAMED).map(said);
    if (atoms.length > MOST_NAMED) named.push(`and ${atoms.length - MOST_NAMED} more`);
    return named;
  }

  const terms = (atoms) =>
    element("ul", { class: "atoms" }, ...atoms.map((atom) => element("li", {}, term(atom))));

  const leaving = (edges, id) =>
    edges.filter(([source]) => source === id).toSorted((a, b) => a[2] - b[2] || b[3] - a[3]);

  /** A table of where capabilities lead; `to` describes the target. */
  function leads(edges, to, none) {
    if (!edges.length) return element("p", { class: "soft" }, none);
    const rows = edges.map(([, target, number, probability, draws]) => {
      const { intent, anchor } = capscope.data.capabilities[number];
      return element(
        "tr",
        {},
        element("td", {}, element("a", { href: `#${anchor}` }, term(intent))),
        element("td", {}, to(target)),
        element("td", { class: "number" }, share(probability)),
        element("td", { class: "number soft" }, counted(draws, "execution")),
      );
    });
    return element("table", {}, element("tbody", {}, ...rows));
  }

  const stateLink = (position) =>
    element("a", { href: `#state-${position}` }, capscope.data.states[position][0]);

  const states = {
    /** States off the map can be described too. */
    get choices() {
      const placed = new Set(capscope.data.map.states);
      return Object.entries(capscope.data.states).map(([id, [name, , executions]]) => [
        Number(id),
        `${name} (${counted(executions, "execution")}${placed.has(Number(id)) ? "" : ", not on the map"})`,
      ]);
    },
    get points() {
      return capscope.data.map.states.map((id) => {
        const [name, , executions] = capscope.data.states[id];
        return { id, name, weight: executions, initial: name === FIRST };
      });
    },
    get edges() {
      return capscope.data.map.edges;
    },
    /** What an entry of a list says. */
    entry(id) {
      const [name, holding] = capscope.data.states[id];
      return { title: `${name}: `, unit: "execution", holding };
    },
    tooltip(id) {
      const [name, atoms, executions] = capscope.data.states[id];
      return [`${name}: ${counted(executions, "execution")}`, ...listed(atoms)].join("\n");
    },
    described(id) {
      const [name, atoms, executions, address] = capscope.data.states[id];
      return [
        element(
          "p",
          { class: "soft" },
          `${name}: ${counted(executions, "execution")} started here.`,
        ),
        picture(address, `Picture of ${name}`),
        terms(atoms),
        element("h3", {}, "Where capabilities lead from here"),
        leads(leaving(this.edges, id), stateLink, "To no other state on the map."),
      ];
    },
  };

  function groupName(id) {
    const [literals, number] = capscope.data.overview.groups[id];
    const shown = literals.slice(0, MOST_IN_LABEL).map(said);
    const more = literals.length - shown.length;
    if (more > 0) shown.push(`and ${more} more`);
    return [counted(number, "state"), ...(shown.length ? shown : ["none of the atoms"])].join("\n");
  }

  /** Say in what a group differs from another. */
  function changes(from, to) {
    const [before, after] = [from, to].map((id) => capscope.data.overview.groups[id][0]);
    const made = after.filter((atom) => !before.includes(atom)).map((atom) => `+ ${said(atom)}`);
    const unmade = before.filter((atom) => !after.includes(atom)).map((atom) => `− ${said(atom)}`);
    return [...made, ...unmade].join(", ");
  }

  const groups = {
    get choices() {
      return capscope.data.overview.groups.map(([literals, number], id) => [
        id,
        `${literals.map(said).join(", ") || "none of the atoms"} (${counted(number, "state")})`,
      ]);
    },
    get points() {
      return capscope.data.overview.groups.map(([, number, , , initial], id) => ({
        id,
        name: groupName(id),
        weight: number,
        initial,
      }));
    },
    get edges() {
      return capscope.data.overview.edges;
    },
    entry(id) {
      const [literals] = capscope.data.overview.groups[id];
      return { title: literals.length ? "" : "none of the atoms ", unit: "state", holding: literals };
    },
    tooltip(id) {
      const [literals, number] = capscope.data.overview.groups[id];
      return [counted(number, "state"), ...listed(literals)].join("\n");
    },
    described(id) {
      const [literals, number, executions, members, initial] = capscope.data.overview.groups[id];
      const began = initial ? " The run began here." : "";
      const summary =
        `${counted(number, "state")}, in which ${counted(executions, "execution")} started.` + began;
      const links = members.flatMap((member) => [stateLink(member), " "]);
      return [
        element("p", { class: "soft" }, summary),
        terms(literals.length ? literals : ["none of the atoms that groups differ in"]),
        element("h3", {}, members.length < number ? "Some of its states" : "Its states"),
        element("p", { class: "members" }, ...links),
        element("h3", {}, "Where capabilities lead from here"),
        leads(
          leaving(this.edges, id),
          (target) => element("a", { href: `#group-${target}` }, changes(id, target)),
          "To no other group.",
        ),
      ];
    },
  };

  return { states, groups };
})();
