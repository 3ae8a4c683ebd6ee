// The entry to charts and markets. Nothing else of this folder may be imported from outside it,
// and it is loaded when a chart is opened.
export { default } from "./ChartPage";
