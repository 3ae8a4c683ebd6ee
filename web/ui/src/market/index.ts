// Registers charts and markets as a module of the app. Code outside this folder must import nothing else from it. The
// page is loaded when a chart is opened.
import { lazyComponent } from "../lib/lazy";
import { register } from "../lib/modules";

register({
  path: "chart",
  offered: (session) => session.features.charts === true,
  link: { label: "Markets", icon: "line" },
  skip: { href: "#chart", label: "Skip to the chart" },
  assistant: "chart",
  Page: lazyComponent(() => import("./ChartPage")),
});
