// The draws of a rule, added when they are opened: states passed, ending, transcript.
"use strict";
(() => {
  const { element, picture, counted, term } = capscope;
  const TONES = { achieved: "good", "something else": "odd" };

  document.querySelector(".capabilities").addEventListener("click", (event) => {
    const button = event.target.closest("button[data-draws]");
    if (!button) return;
    const rule = button.closest(".rule");
    const wanted = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(wanted));
    rule.querySelector(".draws")?.remove();
    if (!wanted) return;
    const capability = capscope.data.capabilities[rule.closest(".capability").dataset.number];
    rule.append(draws(capability, capability.rules[rule.dataset.rule]));
  });

  function draws(capability, rule) {
    const left = rule.draws_count - rule.draws.length;
    return element(
      "div",
      { class: "draws" },
      ...rule.draws.map((draw) => described(draw, rule.marks[draw.outcome])),
      element(
        "p",
        { class: "soft command" },
        left > 0 ? `${counted(left, "more execution")} of this rule. ` : "",
        "All executions of the capability: ",
        element("code", {}, capability.command),
      ),
    );
  }

  function described(draw, mark) {
    const facts = [draw.ending, counted(draw.simulator_steps, "step")];
    if (draw.llm_tokens) facts.push(counted(draw.llm_tokens, "token"));
    if (draw.detail) facts.push(draw.detail);
    return element(
      "div",
      { class: "draw" },
      element(
        "p",
        {},
        element("b", { class: `tone-${TONES[mark] ?? "idle"}` }, mark),
        element(
          "span",
          { class: "soft" },
          ` · query ${draw.query}, draw ${draw.draw}, execution ${draw.execution}` +
            ` · ${facts.join(", ")}`,
        ),
      ),
      ...chain(draw.trajectory),
      draw.transcript ? transcript(draw.transcript) : null,
    );
  }

  /** List the states passed: the first with what holds, the others with what changed. */
  function chain(trajectory) {
    const states = trajectory.map((position) => capscope.data.states[position]);
    const steps = states.map(([name, atoms, , address], i) =>
      element(
        "li",
        {},
        picture(address, `Picture of ${name}`),
        element("a", { href: `#state-${trajectory[i]}`, title: "Show on the map" }, name),
        element(
          "span",
          {},
          ...(i ? changed(states[i - 1][1], atoms) : atoms.map((atom) => term(atom))),
        ),
      ),
    );
    const pictured = steps.some((step) => step.querySelector("img"));
    return [
      element("ol", { class: pictured ? "chain pictured" : "chain" }, ...steps),
      states.length === 1 ? element("p", { class: "soft" }, "The state did not change.") : null,
    ];
  }

  function changed(before, after) {
    const [had, has] = [new Set(before), new Set(after)];
    const changes = [
      ...after.filter((atom) => !had.has(atom)).map((atom) => term(atom, "made")),
      ...before.filter((atom) => !has.has(atom)).map((atom) => term(atom, "unmade")),
    ];
    return changes.length
      ? changes
      : [element("span", { class: "soft" }, "no change that the predicates capture")];
  }

  function transcript(text) {
    return element(
      "details",
      {},
      element("summary", {}, "Transcript"),
      element("pre", { tabindex: "0" }, text),
    );
  }
})();
