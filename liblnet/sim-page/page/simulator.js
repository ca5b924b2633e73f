"use strict";
// The source of the page's events on the documentation's site: two simulated nodes, whose rails the reader cuts and joins.
// scripts/site-page puts SIMULATOR before this, which is the crate lnet-sim-page as WebAssembly, in base64.

const STEP_MS = 100, STEPS_PER_UPDATE = 10;

/// Runs the simulator in real time, and passes its events to `receivers`, by their names.
async function simulate(receivers) {
  const bytes = Uint8Array.from(atob(SIMULATOR), (character) => character.charCodeAt(0));
  const world = (await WebAssembly.instantiate(bytes)).instance.exports;
  const decoder = new TextDecoder();
  let rails = [], results = null, before = performance.now(), steps = 0;

  const update = () => {
    const length = world.update();
    const text = decoder.decode(new Uint8Array(world.memory.buffer, world.text(), length));
    for (const event of text.split("\n\n")) {
      const [, name, data] = event.match(/^event: (.*)\ndata: (.*)$/) ?? [];
      if (name === "rails") [rails, results] = [JSON.parse(data).rails, JSON.parse(data)];
      else if (name) receivers[name](JSON.parse(data));
    }
    drawRails();
  };
  const step = () => {
    const now = performance.now();
    world.advance(Math.round(now - before));
    before = now;
    if (++steps % STEPS_PER_UPDATE === 0) update();
  };
  const toggle = (index) => {
    const rail = rails[index];
    rail.cut = !rail.cut;
    if (rail.cut) world.cut(index); else world.join(index);
    drawRails();
  };

  const section = element("section"), title = element("h2", "", "Rails"), list = element("div"), counted = element("p");
  counted.id = "results";
  list.id = "rails";
  section.append(title, list, counted);
  document.querySelector("main").prepend(section);

  const drawRails = () => {
    sync(list, rails, (rail) => rail.net, (rail) => {
      const row = element("p", "controls"), button = element("button");
      button.type = "button";
      button.onclick = () => toggle(rails.findIndex((its) => its.net === rail.net));
      row.append(button, element("span"));
      return row;
    }, (row, rail) => {
      setText(row.children[0], rail.cut ? "Join " + rail.net : "✂ Cut " + rail.net);
      const text = rail.cut ? "client ━━━  cut  ━━━ server" : "client ━━━━━━━━━ server";
      showMarked(row.children[1], {text, mark: rail.cut ? "bad" : "good"}, "");
    });
    if (results) {
      setText(counted, count(results.succeeded) + " PUTs of the client succeeded, " + (results.failed ? count(results.failed) : "none") + " failed.");
    }
  };

  world.start(Date.now());
  showMarked(byId("connection"), {text: "simulated", mark: "good"}, "");
  update();
  setInterval(step, STEP_MS);
}
