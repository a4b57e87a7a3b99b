// What a line says under the pointer. The page is whole without it.
function pointsOf(line) {  // of steps, the corner that each value begins with
  const xs = line.getAttribute("points").split(" ").map((pair) => +pair.split(",")[0]);
  return line.classList.contains("steps") ? xs.filter((_, corner) => corner % 2 === 0) : xs;
}
for (const svg of document.querySelectorAll("svg.lines")) {
  const figure = svg.closest("figure"), cursor = svg.querySelector(".cursor");
  const said = [...figure.querySelectorAll("polyline[data-said]")].map((line) => line.dataset.said);
  const lines = [...svg.querySelectorAll("polyline")].map((line, number) => ({
    name: line.dataset.name,
    xs: pointsOf(line),
    said: said[number].split("|"),
  }));
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  figure.append(tip);
  svg.addEventListener("pointerleave", () => { tip.hidden = true; cursor.innerHTML = ""; });
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), outer = figure.getBoundingClientRect();
    const x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
    const told = [];
    let moment = "";
    for (const line of lines) {
      if (x < line.xs[0] - 8 || x > line.xs[line.xs.length - 1] + 8) continue;
      let lo = 0, hi = line.xs.length - 1;
      while (lo < hi) {
        const mid = (lo + hi) >> 1;
        if (line.xs[mid] < x) lo = mid + 1; else hi = mid;
      }
      const [at, value] = line.said[lo].split("=");
      moment = at;
      told.push(line.name + ": " + value);
    }
    tip.hidden = !told.length;
    if (!told.length) return;
    const { left, right, top, floor } = svg.dataset;
    const place = Math.min(Math.max(x, +left), +right);
    cursor.innerHTML = `<path class="axis" d="M${place} ${top}V${floor}"/>`;
    tip.textContent = "";
    for (const text of [moment, ...told]) {
      const row = document.createElement("div");
      row.textContent = text;
      tip.append(row);
    }
    const end = event.clientX - outer.left;
    tip.style.left = Math.max(0, Math.min(end + 14, outer.width - tip.offsetWidth - 8)) + "px";
    tip.style.top = event.clientY - outer.top + 14 + "px";
  });
}
