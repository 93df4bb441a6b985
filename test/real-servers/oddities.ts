/** What is unusual in the tools and results of a server, one short phrase for each kind, with how often. Pure. */

interface Tool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

export function describeTools(tools: readonly Tool[]): string[] {
  const parameters = tools.flatMap(({ inputSchema }) => Object.values(fieldsOf(fieldsOf(inputSchema)['properties'])));
  const schemas = tools.map(({ inputSchema }) => JSON.stringify(inputSchema) ?? '');
  return phrases([
    ['tools without a description', tools.filter(({ description }) => (description ?? '').trim() === '').length],
    [
      'parameters without a type',
      parameters.filter((one) => !/"(?:type|\$ref|anyOf|oneOf|allOf|enum|const)"/.test(JSON.stringify(one))).length,
    ],
    ['parameters without a description', parameters.filter((one) => fieldsOf(one)['description'] === undefined).length],
    ['parameters that may be null', parameters.filter((one) => /"type":"null"/.test(JSON.stringify(one))).length],
    ['tools with $ref', schemas.filter((schema) => schema.includes('"$ref"')).length],
    ['tools with an output schema', tools.filter(({ outputSchema }) => outputSchema !== undefined).length],
  ]);
}

export function describeResults(results: readonly { readonly result: unknown }[]): string[] {
  const all = results.map(({ result }) => fieldsOf(result));
  const ofSuccess = all.filter((result) => result['isError'] !== true);
  const textsOf = ({ content }: Fields): string[] =>
    (Array.isArray(content) ? (content as unknown[]) : []).map((block) => {
      const { text } = fieldsOf(block);
      return typeof text === 'string' ? text : '';
    });
  const isWrapped = ({ structuredContent }: Fields): boolean =>
    Object.keys(fieldsOf(structuredContent)).join() === 'result';
  return phrases([
    ['results only in {"result": …}', ofSuccess.filter(isWrapped).length],
    [
      'JSON as text',
      ofSuccess.filter((one) => one['structuredContent'] === undefined && textsOf(one).some(isJsonObject)).length,
    ],
    [
      "Python's repr as text",
      ofSuccess.filter((one) => textsOf(one).some((text) => /^[[{(].*'.*[\])}]$/s.test(text) && !isJsonObject(text)))
        .length,
    ],
    ['failures as ordinary results', ofSuccess.filter((one) => textsOf(one).some(saysFailure)).length],
    [
      'results without content',
      ofSuccess.filter(({ content }) => !Array.isArray(content) || content.length === 0).length,
    ],
    [
      'results of several blocks',
      ofSuccess.filter(({ content }) => Array.isArray(content) && content.length > 1).length,
    ],
    ['errors', all.length - ofSuccess.length],
    [
      'errors without a text',
      all.filter((one) => one['isError'] === true && textsOf(one).join('').trim() === '').length,
    ],
  ]);
}

function phrases(counted: readonly (readonly [string, number])[]): string[] {
  return counted.filter(([, count]) => count > 0).map(([what, count]) => `${count} ${what}`);
}

function saysFailure(text: string): boolean {
  return /^\W*(?:error|failed|exception)\b|^\{\s*"error"|does not exist|not found/i.test(text.slice(0, 200));
}

function isJsonObject(text: string): boolean {
  try {
    return /^\s*[[{]/.test(text) && typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
