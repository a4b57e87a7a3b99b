// Layout: where everything of a step is drawn. Nothing here touches the page.
"use strict";

const ROW = 30, BAR = 19, LANE = 23, LEVEL = 62, COMBINE = 34, MOST_COMBINES = 7;

/** What is the same in all steps: the groups, how many lanes each takes, heights. */
function measured(recording) {
  const most = new Map(), order = [];
  let combines = 0, levels = 0;
  for (const step of recording.steps) {
    let before = -1;  // a group that is new comes after the one that it follows
    for (const [group, lanes] of lanesOf(recording, step)) {
      if (!most.has(group)) order.splice(before + 1, 0, group);
      before = order.indexOf(group);
      most.set(group, Math.max(most.get(group) || 1, lanes.length));
    }
    combines = Math.max(combines, step.combines.length);
    levels = Math.max(levels, ...step.tree.map((node) => node.level + 1), 0);
  }
  const ahead = recording.ranks.every((rank, row) => rank === row);
  const groups = new Map(order.map((group) => [group, most.get(group)]));
  return { groups, levels, ahead, combines: Math.min(combines, MOST_COMBINES),
           timed: recording.rows.length > 1 && recording.rows.every((row) => row.place !== null) };
}

/** The columns of the rows that are drawn: in order of time, or null. */
function columnsOf(recording, step, ahead) {
  const shown = recording.rows.map((_, row) => row).filter((row) => ahead || row < step.arrived);
  shown.sort((a, b) => recording.ranks[a] - recording.ranks[b]);
  const columns = recording.rows.map(() => null);
  shown.forEach((row, column) => { columns[row] = column; });
  return columns;
}

/** The parts of each group in lanes, so that none lies over another. */
function lanesOf(recording, step) {
  const columns = columnsOf(recording, step, false), found = new Map();
  for (const [group, index, number] of step.parts) {
    if (!found.has(group)) found.set(group, []);
    const span = spanOf(recording.partials[number].rows, columns);
    if (!span) continue;
    const lanes = found.get(group);
    let lane = lanes.find((bars) => bars.every((bar) => span[1] < bar.span[0] || bar.span[1] < span[0]));
    if (!lane) lanes.push(lane = []);
    lane.push({ key: `${group} ${index} ${number}`, number, span });
  }
  return found;
}

/** The first and the last column of some rows; null if there are none. */
function spanOf(rows, columns) {
  if (!rows.length) return null;
  const places = rows.map((row) => columns[row]).filter((column) => column !== null);
  return places.length ? [Math.min(...places), Math.max(...places)] : null;
}

/** Where columns are on a stage of some width: all of them, or those around the window. */
function axis(recording, measure, step, width) {
  const columns = columnsOf(recording, step, measure.ahead);
  const left = width > 620 ? 112 : 4, right = width - (width > 620 ? 78 : 66), room = right - left;
  const count = columns.filter((column) => column !== null).length;
  const inside = spanOf(step.window, columns) || [0, 0];
  const least = width > 620 ? 36 : 32;
  const fit = Math.min(count, Math.max(Math.floor(room / least), inside[1] - inside[0] + 2));
  const focus = Math.max(inside[1], spanOf([Math.max(0, step.arrived - 1)], columns)?.[1] ?? 0);
  const first = Math.max(0, Math.min(count - fit, focus + 2 - fit));
  const wide = Math.min(room / Math.max(fit, 1), 68);
  return {
    columns, left, right, wide, first, last: first + fit - 1,
    x: (column) => left + (column - first) * wide,
    clipped: (span) => span[1] < first || span[0] >= first + fit ? null
      : [Math.max(span[0], first), Math.min(span[1], first + fit - 1)],
  };
}

/** All of a step with places: a list of things to draw, and how high the stage is. */
function laidOut(recording, measure, number, width) {
  const step = recording.steps[number], at = axis(recording, measure, step, width);
  const made = new Set(step.combines.map((combine) => combine[2]));
  const read = new Set(step.combines.flatMap((combine) => combine.slice(0, 2)));
  const anchors = new Map();
  let y = measure.timed ? 66 : 8;
  const rowsAt = y;
  y += ROW + 18 + 24;
  const treeAt = y;
  y += measure.levels * LEVEL;
  const groups = [];
  const lanes = lanesOf(recording, step);
  for (const [group, most] of measure.groups) {
    if (at.left < 100) y += 17;
    const bars = [];
    (lanes.get(group) || []).forEach((lane, index) => {
      for (const { key, number: partial, span } of lane) {
        const columns = spanOf(recording.partials[partial].rows, at.columns) || span;
        const shown = at.clipped(columns);
        if (!shown) continue;
        const bar = { key, partial, x: at.x(shown[0]) + 2, y: y + index * LANE,
                      width: (shown[1] - shown[0] + 1) * at.wide - 4, cut: shown[0] > columns[0],
                      made: made.has(partial), read: read.has(partial) };
        bars.push(bar);
        if (!anchors.has(partial)) anchors.set(partial, { x: bar.x + bar.width / 2, y: bar.y + BAR });
      }
    });
    groups.push({ group, y, bars });
    y += most * LANE + 7;
  }
  const combinesAt = y + 26;
  const height = combinesAt + Math.max(measure.combines, 1) * COMBINE + 6;
  const combines = placedCombines(recording, step, at, anchors, combinesAt, measure.combines, rowsAt);
  return { step, at, rowsAt, treeAt, groups, combines, combinesAt, height };
}

/** A line for each combine: both operands, what came of them, and lines to where they are kept. */
function placedCombines(recording, step, at, anchors, top, most, rowsAt) {
  const high = step.combines.length > most ? COMBINE * most / step.combines.length : COMBINE;
  const results = new Map();
  return step.combines.map(([older, younger, result, inverse], index) => {
    const y = top + index * high;
    const operands = [older, younger].map((number) => {
      const span = spanOf(recording.partials[number].rows, at.columns);
      const shown = span && at.clipped(span);
      const from = results.get(number) || anchors.get(number) ||
        (span && span[0] === span[1] && shown ? { x: at.x(shown[0]) + at.wide / 2, y: rowsAt + ROW } : null);
      return { number, from, identity: !span,
               x: shown ? at.x(shown[0]) + 3 : null, width: shown ? (shown[1] - shown[0] + 1) * at.wide - 6 : 0 };
    });
    const xs = operands.filter((one) => one.x !== null);
    const start = xs.length ? Math.min(...xs.map((one) => one.x)) : at.left + 20;
    const end = xs.length ? Math.max(...xs.map((one) => one.x + one.width)) : at.left + 40;
    const bracket = { x: (start + end) / 2, y: y + Math.min(high, 22) };
    results.set(result, bracket);
    return { y, high, operands, start, end, bracket, inverse, result, to: anchors.get(result) || null };
  });
}
