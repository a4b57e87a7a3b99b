// Export: the step that is shown as an SVG file of its own, with the colours that it has here.
"use strict";

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size",
              "font-weight", "text-anchor", "rx"];
const EDGE = 16, HEAD = 44;  // room around the drawing, and above it for the name of the step

/** A colour as every program reads it; computed ones may be mixtures. */
function plainColour(colour) {
  if (!/^(color|rgb)/.test(colour)) return colour;
  const canvas = html("canvas", { width: 1, height: 1 }), brush = canvas.getContext("2d");
  brush.fillStyle = colour;
  brush.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = brush.getImageData(0, 0, 1, 1).data;
  return alpha ? `rgb(${red},${green},${blue})` : "none";
}

/** A copy of an element and all in it that needs no style sheet. */
function standalone(from) {
  const to = from.cloneNode(false), seen = getComputedStyle(from);
  for (const name of KEPT) {
    const value = seen.getPropertyValue(name);
    if (value && value !== "auto") to.style.setProperty(name, plainColour(value));
  }
  if (from.style.transform) to.setAttribute("transform", from.style.transform.replaceAll("px", ""));
  to.style.removeProperty("transform");
  to.removeAttribute("class");
  to.append(...[...from.childNodes].map((child) => child.nodeType === Node.TEXT_NODE
    ? child.cloneNode() : standalone(child)));
  return to;
}

/** The step as SVG. */
function svgOf(stage) {
  const step = recording.steps[current], [, , inner, deep] = stage.getAttribute("viewBox").split(" ").map(Number);
  const width = inner + 2 * EDGE, height = deep + HEAD + EDGE;
  const made = element("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` });
  const paper = plainColour(getComputedStyle(document.body).backgroundColor);
  const answer = step.answer === null ? "" : `, answer ${step.answer}`;
  const name = element("text", { x: EDGE, y: 28 }, `${recording.title}: ${step.call}${answer}`);
  name.setAttribute("style", "font: 600 15px sans-serif");
  name.setAttribute("fill", plainColour(getComputedStyle(document.body).color));
  const drawing = element("g", { transform: `translate(${EDGE} ${HEAD})` });
  drawing.append(...[...stage.childNodes].map(standalone));
  made.append(element("rect", { width, height, fill: paper }), name, drawing);
  return new XMLSerializer().serializeToString(made);
}

/** Have the browser save the step. */
function saveSvg(stage) {
  const place = URL.createObjectURL(new Blob([svgOf(stage)], { type: "image/svg+xml" }));
  html("a", { href: place, download: `step-${current + 1}.svg` }).click();
  URL.revokeObjectURL(place);
}
