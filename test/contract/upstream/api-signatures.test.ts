/** Descriptions of the shapes that real APIs have: every operation becomes a tool with a signature that Python can read. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { assignAliases } from '../../../src/core/catalog/names.ts';
import { signatureLine, toolSpec } from '../../../src/core/catalog/tool-spec.ts';
import type { HttpOperation } from '../../../src/edges/upstream/api/compiled-api.ts';
import { compileOpenApi } from '../../../src/edges/upstream/api/openapi/compile-openapi.ts';
import { parseDescription } from '../../../src/edges/upstream/api/openapi/parse-description.ts';
import { hasLocalPython } from '../../support/local-python.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/openapi');
const FILES = readdirSync(FOLDER);

function compile(file: string) {
  return compileOpenApi(parseDescription(readFileSync(join(FOLDER, file), 'utf8')));
}

test('there are descriptions', () => {
  expect(FILES.length).toBeGreaterThanOrEqual(30);
});

test.skipIf(!hasLocalPython())('every signature is Python', () => {
  const lines = FILES.flatMap((file) =>
    compile(file).tools.flatMap((tool) => {
      const known = { ...tool, alias: tool.name, description: tool.description ?? '', outputSchema: {} };
      const { signature, types } = toolSpec(known);
      return [...types, `def ${signature}: ...`, `def ${signatureLine(known)}: ...`];
    }),
  );
  const python = spawnSync('python3', ['-c', 'import ast, sys; print(len(ast.parse(sys.stdin.read()).body))'], {
    input: lines.join('\n'),
    encoding: 'utf8',
  });
  expect(python.stderr).toBe('');
  expect(Number(python.stdout)).toBeGreaterThan(100);
});

describe.each(FILES)('%s', (file) => {
  const api = compile(file);

  test('has tools with distinct names that are Python identifiers', () => {
    const names = api.tools.map(({ name }) => name);
    expect(assignAliases(names)).toEqual(names);
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
    expect(Object.keys(api.operations)).toEqual(names);
  });

  test('gives each parameter and each member one argument', () => {
    for (const { name, inputSchema } of api.tools) {
      const { parameters, body, path } = api.operations[name] as HttpOperation;
      const members = body === undefined ? [] : (Object.keys(body.members ?? {}) ?? []);
      const taken = [
        ...parameters.map(({ argument }) => argument),
        ...members,
        ...(body?.argument === undefined ? [] : ['body']),
      ];
      expect(new Set(taken).size).toBe(taken.length);
      expect(Object.keys(inputSchema['properties'] as object).toSorted()).toEqual(taken.toSorted());
      expect(inputSchema['additionalProperties']).toBe(false);
      const inPath = parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name);
      expect([...path.matchAll(/\{([^}]+)\}/g)].map(([, part = '']) => part).toSorted()).toEqual(inPath.toSorted());
    }
  });
});
