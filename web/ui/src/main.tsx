import { createRoot } from "react-dom/client";
import "./app.css";
import { applyTheme } from "./lib/theme";
import { App } from "./shell/App";

applyTheme();
createRoot(document.getElementById("root")!).render(<App />);
