import { render } from "preact";
import { App } from "./app.tsx";
import { fragmentOf, ticketOf } from "./route.ts";
import { PageSession } from "./session.ts";
import { Store } from "./store.ts";
import "./style.css";

const store = new Store();
const session = new PageSession(location.origin, (client) => store.use(client));
const ticket = ticketOf(location.hash);
// The ticket lets in once: it neither stays in the address nor goes into the history.
if (ticket !== null) history.replaceState(null, "", `${location.pathname}${fragmentOf({ view: "rooms" })}`);
const stored = session.stored();
session.signIn(ticket === null ? stored : { kind: "ticket", ticket });

const place = document.getElementById("page");
if (place !== null) render(<App session={session} store={store} />, place);
