import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { fragmentOf, routeOf, type Route } from "./route.ts";
import type { PageSession, Phase } from "./session.ts";
import type { Store } from "./store.ts";
import { openRequests } from "./waiting.ts";
import { Approvals } from "./views/approvals.tsx";
import { Consumers } from "./views/consumers.tsx";
import { LogView } from "./views/log.tsx";
import { Plugins } from "./views/plugins.tsx";
import { RoomView } from "./views/room.tsx";
import { Rooms } from "./views/rooms.tsx";
import { SignIn } from "./views/sign-in.tsx";
import { TurnView } from "./views/turn.tsx";

/** The page: who is not let in signs in; else the view that the address names. */
export function App({ session, store }: { readonly session: PageSession; readonly store: Store }) {
  const phase = session.phase.value;
  const route = useRoute();
  if (phase.is === "out") {
    return <SignIn why={phase.why} onToken={(token) => session.signIn({ kind: "token", token })} />;
  }
  return (
    <Shell phase={phase} route={route} store={store} onSignOut={() => session.signOut()}>
      <View route={route} store={store} />
    </Shell>
  );
}

function View({ route, store }: { readonly route: Route; readonly store: Store }) {
  switch (route.view) {
    case "rooms":
      return <Rooms store={store} />;
    case "room":
      return <RoomView key={route.roomId} store={store} roomId={route.roomId} />;
    case "log":
      return <LogView key={route.roomId} store={store} roomId={route.roomId} />;
    case "turn":
      return <TurnView key={route.turnId} store={store} roomId={route.roomId} turnId={route.turnId} />;
    case "approvals":
      return <Approvals store={store} />;
    case "consumers":
      return <Consumers store={store} />;
    case "plugins":
      return <Plugins store={store} />;
  }
}

const tabs = ["rooms", "approvals", "consumers", "plugins"] as const;
const phaseTexts = { connecting: "connecting…", open: "live", waiting: "connection lost, coming back…" };

function Shell(props: {
  readonly phase: Exclude<Phase, { readonly is: "out" }>;
  readonly route: Route;
  readonly store: Store;
  readonly onSignOut: () => void;
  readonly children: ComponentChildren;
}) {
  const { phase, route, store, onSignOut, children } = props;
  const waiting = openRequests(store).length;
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        To the content
      </a>
      <header class="bar">
        <strong class="brand">roomtap</strong>
        <nav aria-label="Views">
          {tabs.map((tab) => (
            <a key={tab} href={fragmentOf({ view: tab })} aria-current={isOf(route, tab) ? "page" : undefined}>
              {tab[0]?.toUpperCase()}
              {tab.slice(1)}
              {tab === "approvals" && waiting > 0 ? (
                <span class="badge" aria-label={`${waiting} open`}>
                  {waiting}
                </span>
              ) : null}
            </a>
          ))}
        </nav>
        <span class={`phase ${phase.is}`} role="status">
          {phaseTexts[phase.is]}
        </span>
        <button type="button" class="quiet" onClick={onSignOut}>
          Sign out
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

/** The fragment is the route: a link to a place in the page is followed by hand. */
function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function isOf(route: Route, tab: (typeof tabs)[number]): boolean {
  return route.view === tab || (tab === "rooms" && "roomId" in route);
}

function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const onChange = (): void => setRoute(routeOf(location.hash));
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return route;
}
