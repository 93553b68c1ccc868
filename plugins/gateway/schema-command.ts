import { defineCommand, type CommandParts, type CommandSpec } from "../command.ts";
import { gatewayTable } from "./methods/index.ts";
import { jsonSchemaOf, openRpcOf } from "./schema.ts";

/** The command that prints the wire: `schema`. */
export function schemaCommands({
  output,
  version,
}: Pick<CommandParts, "output"> & { readonly version: string }): readonly CommandSpec[] {
  return [
    defineCommand<{ readonly openrpc?: boolean }>({
      usage: "schema",
      about: "prints the methods of the wire as JSON Schema",
      options: [{ flags: "--openrpc", about: "as an OpenRPC document" }],
      examples: ["roomtap schema --openrpc > roomtap.openrpc.json"],
      run: async ({ openrpc = false }) => {
        const document = openrpc ? openRpcOf(gatewayTable, version) : jsonSchemaOf(gatewayTable);
        await output.out(JSON.stringify(document, null, 2));
        return 0;
      },
    }),
  ];
}
