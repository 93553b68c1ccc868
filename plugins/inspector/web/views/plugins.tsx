import { useEffect, useState } from "preact/hooks";
import type { PluginInfo } from "../../../plugin-control.ts";
import type { Store } from "../store.ts";
import { countText } from "../words.ts";
import { Chip, Empty, Problem } from "./parts.tsx";

/** The plugins of the host: how they fare, what they may see, and the buttons that turn them off and on. */
export function Plugins({ store }: { readonly store: Store }) {
  useEffect(() => store.pollPlugins(), []);
  const { items, problem } = store.plugins.value;
  return (
    <>
      <h1>Plugins</h1>
      {problem === null ? null : <Problem>They cannot be listed: {problem}. It needs the scope admin.</Problem>}
      {items?.length === 0 ? (
        <Empty title="No plugins">
          <p>
            A config names them: <code>{'"plugins": [{ "path": "./my-plugin.js" }]'}</code>.{" "}
            <code>roomtap plugin new</code> makes one.
          </p>
        </Empty>
      ) : null}
      <ul class="cards">
        {(items ?? []).map((plugin) => (
          <PluginCard key={plugin.id} store={store} plugin={plugin} />
        ))}
      </ul>
    </>
  );
}

function PluginCard({ store, plugin }: { readonly store: Store; readonly plugin: PluginInfo }) {
  const { id, version, state, isolation, disclosure, handlers, faults, restarts, last_fault } = plugin;
  const dropped = handlers.reduce((sum, handler) => sum + handler.dropped, 0);
  const delivered = handlers.reduce((sum, handler) => sum + handler.delivered, 0);
  return (
    <li class="card">
      <h2>
        {id} <span class="muted">{version}</span> <Chip word={state} />
      </h2>
      <p class="figures">
        <span>{isolation}</span>
        <span>{countText(delivered)} delivered</span>
        <span class={dropped > 0 ? "lost" : ""}>{countText(dropped)} dropped</span>
        <span class={faults > 0 ? "lost" : ""}>{countText(faults)} faults</span>
        {restarts > 0 ? <span class="lost">{countText(restarts)} restarts</span> : null}
      </p>
      {last_fault === null ? null : <Problem>{last_fault}</Problem>}
      {disclosure === null ? null : <p>{disclosure}</p>}
      <p class="muted">{maySeeText(plugin)}</p>
      <Switches store={store} plugin={plugin} />
    </li>
  );
}

function maySeeText({ permit, routes, commands }: PluginInfo): string {
  return [
    `sees ${permit.rooms === null ? "all rooms" : permit.rooms.join(", ")} at level ${permit.payload}`,
    ...permit.grants,
    ...(permit.answers ? ["answers requests"] : []),
    ...(routes.length === 0 ? [] : [`serves ${routes.join(", ")}`]),
    ...(commands.length === 0 ? [] : [`has the commands ${commands.map(({ name }) => name).join(", ")}`]),
  ].join("; ");
}

function Switches({ store, plugin }: { readonly store: Store; readonly plugin: PluginInfo }) {
  const [said, setSaid] = useState<string | null>(null);
  const { id, state, path } = plugin;
  const change = async (what: "enable" | "disable" | "reload"): Promise<void> => {
    setSaid(`${what}…`);
    setSaid(await store.changePlugin(id, what));
  };
  const isOff = state === "disabled" || state === "failed";
  return (
    <div class="buttons" role="group" aria-label={`Plugin ${id}`}>
      <button type="button" onClick={() => void change(isOff ? "enable" : "disable")}>
        {isOff ? "Enable" : "Disable"}
      </button>
      {path === null ? null : (
        <button type="button" onClick={() => void change("reload")}>
          Reload
        </button>
      )}
      <span role="status" class="muted">
        {said ?? ""}
      </span>
    </div>
  );
}
