import { type Config, parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { Html, markup } from "./html.ts";

/** Draws a plot once and for all: the page needs no library, prints, and works without scripts. */
export async function plot(caption: string, spec: TopLevelSpec): Promise<Html> {
  const whole: TopLevelSpec = { background: "transparent", ...spec, description: caption };
  const view = new View(parse(compile(whole).spec, THEME), { renderer: "none" });
  try {
    return markup`<figure>${new Html(
      await view.toSVG(),
    )}<figcaption>${caption}</figcaption></figure>`;
  } finally {
    view.finalize();
  }
}

/** Lines and words in the page's own colour, so that one drawing does for light and dark. */
const THEME: Config = {
  axis: {
    domainColor: "currentColor",
    tickColor: "currentColor",
    labelColor: "currentColor",
    titleColor: "currentColor",
    gridColor: "currentColor",
    gridOpacity: 0.15,
    labelFontSize: 12,
    titleFontSize: 12,
  },
  legend: { labelColor: "currentColor", titleColor: "currentColor", labelFontSize: 12 },
  header: { labelColor: "currentColor", titleColor: "currentColor", labelFontSize: 12 },
  title: { color: "currentColor" },
  view: { stroke: null },
  // Okabe and Ito's colours, told apart by the colour-blind and on either background.
  range: {
    category: ["#2a7fc1", "#d55e00", "#009e73", "#cc79a7", "#b8a200", "#56b4e9", "#e69f00", "#888"],
  },
} as Config;
