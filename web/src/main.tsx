import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/parts.css";
import "./styles/graph.css";
import "./styles/pages.css";
import { takeTokenFromAddress } from "./api/session";
import { App } from "./app";

takeTokenFromAddress();
render(<App />, document.getElementById("app")!);
