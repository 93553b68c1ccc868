import ts from "typescript";

/** How a file names another one. */
export type ImportForm = "import" | "type" | "import()" | "require" | "resolve" | "url";

export interface ImportLine {
  readonly form: ImportForm;
  /** null when it is computed, so that nobody can say where it leads. */
  readonly specifier: string | null;
  /** Names asked for, `*` for all of them, empty when only effects are wanted. */
  readonly names: readonly string[];
  readonly line: number;
}

/**
 * Every way in which a TypeScript text names another module: `import` and `export ... from` with or without `type`,
 * `import("x")` as a value and as a type, `require`, `import.meta.resolve`, `new URL("x", import.meta.url)`, and
 * `/// <reference types>`. In order of the text.
 */
export function readImports(text: string): readonly ImportLine[] {
  const source = ts.createSourceFile("read.ts", text, ts.ScriptTarget.Latest, true);
  const found: ImportLine[] = source.typeReferenceDirectives.map(({ fileName, pos }) => ({
    form: "type",
    specifier: fileName,
    names: ["*"],
    line: source.getLineAndCharacterOfPosition(pos).line + 1,
  }));
  const visit = (node: ts.Node): void => {
    const read = readNode(node);
    if (read !== undefined) {
      found.push({ ...read, line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1 });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

type Read = Omit<ImportLine, "line"> | undefined;

function readNode(node: ts.Node): Read {
  if (ts.isImportDeclaration(node)) return readImport(node);
  if (ts.isExportDeclaration(node)) return readReExport(node);
  if (ts.isImportTypeNode(node)) {
    const argument = ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined;
    return { form: "type", specifier: literal(argument), names: ["*"] };
  }
  if (ts.isExternalModuleReference(node)) return { form: "require", specifier: literal(node.expression), names: ["*"] };
  if (ts.isCallExpression(node)) return readCall(node);
  if (ts.isNewExpression(node) && node.expression.getText() === "URL") {
    const [target, base] = node.arguments ?? [];
    if (base?.getText() === "import.meta.url") return { form: "url", specifier: literal(target), names: [] };
  }
  return undefined;
}

function readImport(node: ts.ImportDeclaration): Read {
  const clause = node.importClause;
  const specifier = literal(node.moduleSpecifier);
  if (clause === undefined) return { form: "import", specifier, names: [] };
  const names = clause.name === undefined ? [] : ["default"];
  const bindings = clause.namedBindings;
  if (bindings !== undefined && ts.isNamespaceImport(bindings)) names.push("*");
  const elements = bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements : [];
  for (const element of elements) names.push((element.propertyName ?? element.name).text);
  const typeOnly = clause.phaseModifier === ts.SyntaxKind.TypeKeyword;
  return { form: typeOnly || allTypes(elements, names) ? "type" : "import", specifier, names };
}

function readReExport(node: ts.ExportDeclaration): Read {
  if (node.moduleSpecifier === undefined) return undefined;
  const specifier = literal(node.moduleSpecifier);
  if (node.exportClause === undefined || !ts.isNamedExports(node.exportClause)) {
    return { form: node.isTypeOnly ? "type" : "import", specifier, names: ["*"] };
  }
  const elements = node.exportClause.elements;
  const names = elements.map((element) => (element.propertyName ?? element.name).text);
  return { form: node.isTypeOnly || allTypes(elements, names) ? "type" : "import", specifier, names };
}

function readCall(node: ts.CallExpression): Read {
  const specifier = literal(node.arguments[0]);
  if (node.expression.kind === ts.SyntaxKind.ImportKeyword) return { form: "import()", specifier, names: ["*"] };
  const callee = node.expression.getText();
  if (callee === "require" || callee === "require.resolve") return { form: "require", specifier, names: ["*"] };
  if (callee === "import.meta.resolve") return { form: "resolve", specifier, names: [] };
  return undefined;
}

function allTypes(elements: readonly { readonly isTypeOnly: boolean }[], names: readonly string[]): boolean {
  return elements.length > 0 && elements.length === names.length && elements.every((element) => element.isTypeOnly);
}

function literal(node: ts.Node | undefined): string | null {
  return node !== undefined && ts.isStringLiteralLike(node) ? node.text : null;
}
