// Picture: which step is shown, and how a reader moves: keys, buttons, swipes, the cost chart.
"use strict";

const recordings = JSON.parse(document.getElementById("recordings").textContent);
const page = document.getElementById("picture");
let recording, measure, current = 0, playing = null;

page.innerHTML = `<header><h1></h1><p class="lead"></p></header><nav></nav>
<div class="controls">
  <span class="buttons"><button data-go="-1" aria-label="previous step">◀</button><button
  data-play aria-label="play">▶▶</button><button data-go="1" aria-label="next step">▶</button><button
  data-svg title="save this step as SVG">SVG</button></span>
  <span class="count" aria-live="polite"></span><code class="call"></code>
  <span class="answer"></span></div>
<div class="cost"></div><div class="stage" tabindex="0"><svg role="img"></svg></div>
<p class="legend"><span><i class="inside"></i>row in the window</span>
<span><i class="kept"></i>partial that is kept</span><span><i class="read"></i>read in this step</span>
<span><i class="made"></i>made in this step</span></p>
<p class="keys"><kbd>←</kbd> <kbd>→</kbd> one step, <kbd>↑</kbd> <kbd>↓</kbd> one answer,
<kbd>Home</kbd> <kbd>End</kbd> to the ends, <kbd>space</kbd> plays, <kbd>s</kbd> saves the step as SVG</p>
<details class="card"><summary>The algorithm in a few lines</summary><pre></pre></details>`;
const find = (selector) => page.querySelector(selector);
const stage = find(".stage svg");

function open(number) {
  recording = recordings[number];
  measure = measured(recording);
  current = 0;
  find("h1").textContent = recording.title;
  find(".lead").textContent = recording.lead;
  find(".card").hidden = !recording.card;
  find(".card pre").textContent = recording.card;
  [...find("nav").children].forEach((tab, index) => tab.setAttribute("aria-pressed", index === number));
  stage.textContent = "";
  drawn = new Map();
  if (!recording.steps.length) {
    find(".call").textContent = "no step was recorded";
    return;
  }
  show(0);
}

function show(number) {
  if (!recording.steps.length) return;
  current = Math.max(0, Math.min(recording.steps.length - 1, number));
  const layout = laidOut(recording, measure, current, find(".stage").clientWidth);
  const { step } = layout;
  find(".count").textContent = `${current + 1} / ${recording.steps.length}`;
  find(".call").textContent = step.call;
  const answer = lastAnswer();
  find(".answer").textContent = answer === null ? "" : `answer ${answer}`;
  find(".answer").classList.toggle("now", step.answer !== null);
  stage.setAttribute("viewBox", `0 0 ${find(".stage").clientWidth} ${layout.height}`);
  stage.style.height = `${layout.height}px`;
  stage.setAttribute("aria-label", `${step.call}: ${step.combines.length} combines`);
  draw(layout);
  drawCost();
}

function lastAnswer() {
  for (let k = current; k >= 0; k--) if (recording.steps[k].answer !== null) return recording.steps[k].answer;
  return null;
}

// Moving

function stop() {
  clearInterval(playing);
  playing = null;
  find("[data-play]").textContent = "▶▶";
}

function play() {
  if (playing) { stop(); return; }
  if (current === recording.steps.length - 1) show(0);
  find("[data-play]").textContent = "❚❚";
  playing = setInterval(() => {
    show(current + 1);
    if (current === recording.steps.length - 1) stop();
  }, 900);
}

function toAnswer(way) {
  let next = current + way;
  while (recording.steps[next] && recording.steps[next].answer === null) next += way;
  show(recording.steps[next] ? next : way > 0 ? recording.steps.length - 1 : 0);
}

const KEYS = {
  ArrowRight: () => show(current + 1), ArrowLeft: () => show(current - 1),
  ArrowDown: () => toAnswer(1), ArrowUp: () => toAnswer(-1),
  Home: () => show(0), End: () => show(recording.steps.length - 1), " ": play,
  s: () => saveSvg(stage),
};
document.addEventListener("keydown", (event) => {
  const move = KEYS[event.key];
  if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " " && event.target.closest?.("button, summary")) return;
  event.preventDefault();
  if (event.key !== " ") stop();
  move();
});
for (const button of page.querySelectorAll("[data-go]")) {
  button.addEventListener("click", () => { stop(); show(current + Number(button.dataset.go)); });
}
find("[data-play]").addEventListener("click", play);
find("[data-svg]").addEventListener("click", () => saveSvg(stage));

let touched = null;
stage.addEventListener("pointerdown", (event) => { touched = event.clientX; });
stage.addEventListener("pointerup", (event) => {
  const way = touched === null ? 0 : event.clientX - touched;
  touched = null;
  if (Math.abs(way) > 40) { stop(); show(current + (way < 0 ? 1 : -1)); }
});

recordings.forEach((one, number) => {
  const tab = html("button", {}, one.title);
  tab.addEventListener("click", () => { stop(); open(number); });
  find("nav").append(tab);
});
find("nav").hidden = recordings.length < 2;

/** In a notebook or a page of documentation the frame is as high as the picture. */
function fitFrame() {
  if (window.frameElement) window.frameElement.style.height = `${page.offsetHeight + 4}px`;
}

/** There it is light or dark as the page around it is, whatever the reader's setting. */
function followTheme() {
  const around = window.parent.document.body;
  const take = () => {
    const [red, green, blue, alpha] = (getComputedStyle(around).backgroundColor.match(/[\d.]+/g) || []).map(Number);
    if (alpha === 0 || red === undefined) return;
    document.documentElement.style.colorScheme = red + green + blue < 384 ? "dark" : "light";
  };
  take();
  new MutationObserver(() => requestAnimationFrame(take)).observe(around, { attributes: true });
}
if (window.frameElement) followTheme();
new ResizeObserver(() => { show(current); fitFrame(); }).observe(find(".stage").parentElement);
find(".card").addEventListener("toggle", fitFrame);
open(0);
fitFrame();
