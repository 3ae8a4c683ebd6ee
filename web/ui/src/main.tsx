import { createRoot } from "react-dom/client";
import "./app.css";
import { applyTheme } from "./lib/theme";
import "./market/index"; // remove this line and the folder to build the app without price charts
import { App } from "./shell/App";
import { Boundary } from "./ui/Boundary";

applyTheme();
createRoot(document.getElementById("root")!).render(
  <Boundary>
    <App />
  </Boundary>,
);
