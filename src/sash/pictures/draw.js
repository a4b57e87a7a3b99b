// Draw: a step as SVG. Things with a key move from step to step, others are drawn again.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
let drawn = new Map();  // by key

function element(name, attributes = {}, text = null, space = SVG) {
  const made = space ? document.createElementNS(space, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}
const html = (name, attributes, text) => element(name, attributes, text ?? null, null);

function draw(layout) {
  const seen = new Set();
  const behind = layer("behind"), solid = layer("solid"), fresh = layer("fresh");
  fresh.textContent = "";
  const box = (key, style, x, y, width, height, text, into = solid) => {
    let group = drawn.get(key);
    if (!group) {
      group = element("g");
      group.append(element("rect", { rx: 4 }), element("text"), element("title"));
      into.append(group);
      drawn.set(key, group);
    }
    seen.add(key);
    group.setAttribute("class", style);
    group.style.transform = `translate(${x}px, ${y}px)`;
    const [rect, label, title] = group.children;
    rect.setAttribute("width", Math.max(0, width));
    rect.setAttribute("height", height);
    label.setAttribute("x", width / 2);
    label.setAttribute("y", height / 2 + 4.5);
    label.textContent = fitted(text, width);
    title.textContent = text;
  };
  drawRows(layout, box, behind, fresh);
  drawTree(layout, box, fresh);
  for (const { group, y, bars } of layout.groups) {
    const narrow = layout.at.left < 100;
    fresh.append(element("text", { class: "group", x: narrow ? 4 : 0, y: narrow ? y - 4 : y + 14 },
                         narrow ? group : fitted(group, 114)));
    for (const bar of bars) {
      const style = `bar${bar.made ? " made" : bar.read ? " read" : ""}${bar.cut ? " cut" : ""}`;
      box(bar.key, style, bar.x, bar.y, bar.width, BAR, recording.partials[bar.partial].value);
    }
  }
  drawCombines(layout, fresh);
  for (const [key, group] of drawn) {
    if (!seen.has(key)) { group.remove(); drawn.delete(key); }
  }
}

function layer(name) {
  let found = stage.querySelector(`.${name}`);
  if (!found) stage.append(found = element("g", { class: name }));
  return found;
}

/** As much of a text as fits a width. */
function fitted(text, width) {
  const letters = Math.floor((width - 4) / 6.7);
  return text.length <= letters ? text : letters >= 4 ? text.slice(0, letters - 1) + "…" : "";
}

function drawRows({ step, at, rowsAt, combinesAt }, box, behind, fresh) {
  const inside = new Set(step.window), shown = at.clipped(spanOf(step.window, at.columns) || [-1, -1]);
  if (shown) {
    box("window", "band", at.x(shown[0]), rowsAt - 4, (shown[1] - shown[0] + 1) * at.wide,
        combinesAt - rowsAt - 24, "", behind);
  }
  fresh.append(element("text", { class: "group", x: 0, y: rowsAt + 20 }, at.left < 100 ? "" : "rows"));
  const answers = new Map();
  recording.steps.slice(0, current + 1).forEach((one) => {
    if (one.answer !== null && one.at !== null) answers.set(one.at, one.answer);
  });
  if (answers.size && at.left > 100) {
    fresh.append(element("text", { class: "group", x: 0, y: rowsAt + ROW + 33 }, "answers"));
  }
  recording.rows.forEach((row, number) => {
    const column = at.columns[number];
    if (column === null || column < at.first || column > at.last) return;
    const x = at.x(column), coming = number >= step.arrived;
    const style = inside.has(number) ? "row inside" : coming ? "row coming" : "row gone";
    box(`row ${number}`, style, x + 2, rowsAt, at.wide - 4, ROW, row.value);
    const told = row.time !== null && row.time.length * 6 < at.wide ? row.time : String(number);
    fresh.append(element("text", { class: "tick", x: x + at.wide / 2, y: rowsAt + ROW + 13 }, told));
    if (answers.has(number)) {
      const now = step.answer !== null && step.at === number;
      fresh.append(element("text", { class: now ? "told now" : "told", x: x + at.wide / 2,
                                     y: rowsAt + ROW + 33 }, fitted(answers.get(number), at.wide + 6)));
    }
  });
  if (measure.timed) drawTimes(step, at, rowsAt, inside, fresh);
}

/** The line of time: each row where its time is, and the window over it. */
function drawTimes(step, at, rowsAt, inside, fresh) {
  const x = (place) => at.left + 8 + place * (at.right - at.left - 16), y = 28;
  fresh.append(element("path", { class: "axis", d: `M${at.left} ${y}H${at.right}` }));
  const places = step.window.map((row) => recording.rows[row].place);
  if (places.length) {
    const from = x(Math.min(...places)), to = x(Math.max(...places));
    fresh.append(element("rect", { class: "span", x: from - 7, y: y - 9, width: to - from + 14, height: 18, rx: 9 }));
  }
  recording.rows.forEach((row, number) => {
    const column = at.columns[number], kind = inside.has(number) ? "inside" : number >= step.arrived ? "coming" : "gone";
    if (column === null) return;
    if (kind === "inside" && column >= at.first && column <= at.last) {
      const to = at.x(column) + at.wide / 2;
      fresh.append(element("path", { class: "thread", d: `M${x(row.place)} ${y + 4}C${x(row.place)} ${rowsAt - 12} ${to} ${y + 18} ${to} ${rowsAt}` }));
    }
    const dot = element("circle", { class: `dot ${kind}`, cx: x(row.place), cy: y, r: 4 });
    dot.append(element("title", {}, row.time));
    fresh.append(dot);
  });
  const latest = recording.rows[Math.max(0, step.arrived - 1)];
  const end = x(latest.place) > (at.left + at.right) / 2;
  fresh.append(element("text", { class: "moment", x: x(latest.place) + (end ? 4 : -4), y: 13,
                                 "text-anchor": end ? "end" : "start" }, `latest row: ${latest.time}`));
}

/** FiBA's tree: entries in the columns of their times, a box for each node. */
function drawTree({ step, at, treeAt }, box, fresh) {
  if (!step.tree.length) return;
  const before = new Set((recording.steps[current - 1]?.tree || []).map(signature));
  const top = Math.max(...step.tree.map((node) => node.level));
  const nodes = new Map(step.tree.map((node) => [node.node, node])), places = new Map();
  for (const node of step.tree) {
    const spans = node.entries.map((number) => spanOf(recording.partials[number].rows, at.columns))
                              .map((span) => span && at.clipped(span));
    const known = spans.filter(Boolean);
    const y = treeAt + (measure.levels - 1 - node.level) * LEVEL + 8;
    if (known.length) {
      places.set(node.node, { y, x: at.x(known[0][0]), end: at.x(known[known.length - 1][1] + 1), spans });
    }
  }
  for (const node of step.tree) {
    const place = places.get(node.node);
    if (!place) continue;
    node.children.forEach((child, index) => {
      const under = places.get(child);
      if (!under) return;
      const span = place.spans[Math.min(index, place.spans.length - 1)];
      const from = !span ? place.x : index < place.spans.length ? at.x(span[0]) : at.x(span[1] + 1);
      const to = (under.x + under.end) / 2, spine = nodes.get(child).side;
      fresh.append(element("path", { class: spine ? "edge spine" : "edge",
        d: `M${from} ${place.y + 34}C${from} ${place.y + 48} ${to} ${under.y - 16} ${to} ${under.y}` }));
    });
    const changed = before.size && !before.has(signature(node));
    fresh.append(element("rect", { class: `node${node.side ? " spine" : ""}${changed ? " changed" : ""}`,
      x: place.x - 1, y: place.y, width: place.end - place.x + 2, height: 34, rx: 8 }));
    node.entries.forEach((number, index) => {
      const span = place.spans[index];
      if (!span) return;
      box(`entry ${recording.partials[number].rows.join(" ")}`, "entry", at.x(span[0]) + 4, place.y + 5,
          (span[1] - span[0] + 1) * at.wide - 8, 24, recording.partials[number].value, layer("above"));
    });
    if (node.level === 0 && top > 0 && node.side) {
      fresh.append(element("text", { class: "tick", x: (place.x + place.end) / 2, y: place.y + 47 }, `${node.side} finger`));
    }
  }
}
const signature = (node) => `${node.entries.join(" ")} | ${node.children.join(" ")}`;

function drawCombines({ step, at, combines, combinesAt }, fresh) {
  const count = combines.length;
  const inverses = combines.filter((one) => one.inverse).length;
  const said = inverses ? `${count - inverses} combines, ${inverses} inverse` : count === 1 ? "1 combine" : `${count} combines`;
  fresh.append(element("text", { class: "group", x: at.left < 100 ? 4 : 0, y: combinesAt - 10 }, `${said} in this step`));
  for (const one of combines) {
    const high = Math.min(BAR, one.high - 6);
    for (const operand of one.operands) {
      if (operand.from && operand.x !== null) {
        fresh.append(element("path", { class: "link", d: curve(operand.from, { x: operand.x + operand.width / 2, y: one.y }) }));
      }
    }
    if (one.to) fresh.append(element("path", { class: "link made", d: curve(one.to, one.bracket) }));
    const style = ["operand", one.inverse ? "operand taken" : "operand"];
    one.operands.forEach((operand, index) => {
      if (operand.identity) {
        const x = index ? one.end + 9 : one.start - 9;
        const dot = element("circle", { class: "identity", cx: x, cy: one.y + high / 2, r: 4 });
        dot.append(element("title", {}, "the identity: no rows"));
        fresh.append(dot);
        return;
      }
      if (operand.x === null) return;
      fresh.append(element("rect", { class: style[index], x: operand.x, y: one.y, width: operand.width, height: high, rx: 4 }));
      fresh.append(element("text", { class: "value", x: operand.x + operand.width / 2, y: one.y + high / 2 + 4 },
                           one.high < 18 ? "" : fitted(recording.partials[operand.number].value, operand.width)));
    });
    fresh.append(element("path", { class: "bracket", d: `M${one.start} ${one.y + high + 2}v3H${one.end}v-3` }));
    const text = `${one.inverse ? "⊖" : "⊕"} = ${recording.partials[one.result].value}`;
    fresh.append(element("text", { class: "result", x: one.end + (one.operands[1].identity ? 18 : 8),
                                   y: one.y + high / 2 + 5 }, text));
  }
}

function curve(from, to) {
  const bend = Math.max(14, Math.abs(to.y - from.y) * 0.4), down = to.y >= from.y ? 1 : -1;
  return `M${from.x} ${from.y}C${from.x} ${from.y + bend * down} ${to.x} ${to.y - bend * down} ${to.x} ${to.y}`;
}

/** Combines of every step, as bars: what an algorithm costs at worst and on average. */
function drawCost() {
  const holder = find(".cost"), width = holder.clientWidth, steps = recording.steps;
  const most = Math.max(1, ...steps.map((step) => step.combines.length)), wide = width / steps.length;
  const total = steps.reduce((sum, step) => sum + step.combines.length, 0);
  const svg = element("svg", { viewBox: `0 0 ${width} 46`, role: "img", "aria-label": "combines of each step" });
  steps.forEach((step, number) => {
    const high = step.combines.length / most * 26;
    const bar = element("g", { class: number === current ? "now" : step.answer !== null ? "asked" : "" });
    bar.append(element("rect", { class: "hit", x: number * wide, y: 0, width: wide, height: 46 }));
    bar.append(element("rect", { x: number * wide + Math.min(1, wide / 5), y: 40 - high - 2, width: Math.max(1, wide - Math.min(2, wide / 2.5)), height: high + 2, rx: 1 }));
    bar.append(element("title", {}, `${step.call}: ${step.combines.length} combines`));
    bar.addEventListener("click", () => { stop(); show(number); });
    svg.append(bar);
  });
  svg.append(element("text", { class: "tick", x: 0, y: 9 }, `combines per step: at most ${most}, ${total} in ${steps.length} steps`));
  holder.replaceChildren(svg);
}
