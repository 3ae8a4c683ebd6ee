import { createRoot } from "react-dom/client";
import "./app.css";
import { applyTheme } from "./lib/theme";
import { App } from "./shell/App";
import { Boundary } from "./ui/Boundary";

applyTheme();
createRoot(document.getElementById("root")!).render(
  <Boundary>
    <App />
  </Boundary>,
);
