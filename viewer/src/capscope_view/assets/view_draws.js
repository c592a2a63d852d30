// The draws of a run: find one, and go through its steps with pictures and what the agent said.
"use strict";
(() => {
  const { element, picture, counted, server } = capscope;
  const get = (id) => document.getElementById(id);
  const SECONDS_A_STEP = 1;
  let frames = [];
  let draw = null;
  let at = 0;
  let timer = null;

  capscope.data.capabilities.forEach((name, i) => {
    get("capability").append(element("option", { value: i }, name));
  });

  const term = (kind, text) => element("span", { class: `term ${kind}` }, text);

  function changes(before, after) {
    const [had, has] = [new Set(before.atoms), new Set(after.atoms)];
    return [
      ...after.atoms.filter((atom) => !had.has(atom)).map((atom) => term("made", atom)),
      ...before.atoms.filter((atom) => !has.has(atom)).map((atom) => term("unmade", atom)),
    ];
  }

  /** A draw as steps: what was asked, each change of the state, and how the attempt ended. */
  function steps(made) {
    return made.executions.flatMap((execution, number) => {
      const states = execution.trajectory.map((index) => made.states[index]);
      const asked = { number, state: states[0], text: `asked for ${execution.intent}`, changes: [] };
      const passed = states.slice(1).map((state, i) => ({
        number,
        state,
        text: "",
        changes: changes(states[i], state),
      }));
      const verdict = execution.achieved
        ? execution.held ? "still holds" : "achieved"
        : "not achieved";
      const facts = [execution.ending, counted(execution.simulator_steps, "step")];
      if (execution.llm_tokens) facts.push(counted(execution.llm_tokens, "token"));
      if (execution.detail) facts.push(execution.detail);
      const ended = { number, state: states.at(-1), text: `${verdict} (${facts.join(", ")})`, changes: [] };
      return [asked, ...passed, ended];
    });
  }

  function show(number) {
    at = Math.max(0, Math.min(number, frames.length - 1));
    const frame = frames[at];
    if (!frame) {
      get("step").replaceChildren("The draw was cut before anything happened.");
      return;
    }
    const { state } = frame;
    const image = picture(state.picture, `Picture of ${state.name}`);
    get("step").replaceChildren(
      element("p", {}, element("b", {}, frame.text), " ", ...frame.changes.flatMap((one) => [one, " "])),
      ...(image ? [image] : []),
      element(
        "p",
        { class: "soft" },
        state.name,
        image && !state.exact ? ": the picture shows a position in the same symbolic state" : "",
      ),
      element("ul", { class: "atoms" }, ...state.atoms.map((atom) => element("li", {}, term("", atom)))),
    );
    get("where").textContent = `step ${at + 1} of ${frames.length}`;
    get("previous").disabled = at === 0;
    get("next").disabled = at === frames.length - 1;
    [...get("steps").querySelectorAll("button")].forEach((button, i) => {
      if (i === at) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
    said(draw.executions[frame.number], frame.number);
  }

  function said(execution, number) {
    if (get("said").dataset.number === String(number)) return;
    get("said").dataset.number = number;
    get("said").replaceChildren(
      ...(execution.transcript
        ? [
            element("h3", {}, `What the agent said when asked for ${execution.intent}`),
            element("pre", { tabindex: "0" }, execution.transcript),
          ]
        : []),
    );
  }

  function open(made) {
    stop();
    draw = made;
    frames = steps(made);
    delete get("said").dataset.number;
    get("said").replaceChildren();
    get("query").value = made.query;
    get("number").value = made.draw;
    get("title").textContent = `Query ${made.query}, draw ${made.draw}` +
      (made.draws > 1 ? ` (${made.draws} draws)` : "") + (made.cut ? ", cut by a budget" : "");
    get("steps").replaceChildren(
      ...frames.map((frame, i) => {
        const changed = frame.changes.flatMap((one) => [one.cloneNode(true), " "]);
        const button = element("button", { type: "button" }, frame.text, " ", ...changed);
        button.addEventListener("click", () => { stop(); show(i); });
        return element("li", {}, button);
      }),
    );
    get("replay").hidden = false;
    get("message").textContent = "";
    history.replaceState(null, "", `#query-${made.query}-draw-${made.draw}`);
    show(0);
  }

  /** Use the answer to the latest question of a kind; earlier ones may be answered later. */
  function latestOnly(use) {
    let asked = 0;
    return async (address) => {
      asked += 1;
      const mine = asked;
      try {
        const answer = await server.ask(address);
        if (mine === asked) use(answer);
      } catch (error) {
        get("message").textContent = server.problem(error);
      }
    };
  }

  const fetchDraw = latestOnly(open);
  const openAt = (query, number) => fetchDraw(`draw.json?query=${query}&draw=${number}`);
  const openLatest = () => fetchDraw("draw.json");
  const findDraws = latestOnly(list);

  function list({ draws }) {
    get("found").replaceChildren(
      ...draws.map((one) => {
        const button = element(
          "button",
          { type: "button" },
          element("b", {}, one.intent),
          one.achieved ? " ✓ " : " ✗ ",
          one.changes.join(", ") || "nothing changed",
          element("span", { class: "soft" }, ` · query ${one.query}, draw ${one.draw}, execution ${one.execution}, ${one.ending}`),
        );
        button.addEventListener("click", () => openAt(one.query, one.draw));
        return element("li", {}, button);
      }),
    );
    if (!draws.length) get("found").replaceChildren(element("li", { class: "soft" }, "none"));
  }

  // --- controls ---

  function stop() {
    clearInterval(timer);
    timer = null;
    get("play").setAttribute("aria-pressed", "false");
  }

  function play() {
    if (timer) { stop(); return; }
    get("play").setAttribute("aria-pressed", "true");
    if (at === frames.length - 1) show(0);
    timer = setInterval(() => {
      if (at >= frames.length - 1) stop();
      else show(at + 1);
    }, 1000 * SECONDS_A_STEP);
  }

  get("previous").addEventListener("click", () => { stop(); show(at - 1); });
  get("next").addEventListener("click", () => { stop(); show(at + 1); });
  get("play").addEventListener("click", play);
  get("latest").addEventListener("click", openLatest);
  get("place").addEventListener("submit", (event) => {
    event.preventDefault();
    openAt(get("query").value, get("number").value);
  });
  get("capability").addEventListener("change", (event) => {
    findDraws(`draws.json?capability=${event.target.value}`);
  });
  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !draw || event.target.closest("input, select, pre")) return;
    event.preventDefault();
    stop();
    show(at + step);
  });

  const wanted = location.hash.match(/^#query-(\d+)-draw-(\d+)$/);
  if (wanted) openAt(wanted[1], wanted[2]);
  else openLatest();
  findDraws("draws.json");
})();
