// @ts-check
/**
 * Removes two unused things from the startup chunks that together cost 25 of 150 ms (measured from spawn to the answer to
 * `tools/list`): zod's error messages in 60 languages, and the JSON Schema validator that the server SDK uses only to check
 * answers to elicitation. Code that uses elicitation must pass a `jsonSchemaValidator` to the server.
 */
const REFUSAL = 'The bundle has no default JSON Schema validator for the server: pass jsonSchemaValidator.';

const REPLACEMENTS = [
  {
    file: /\/zod\/v4\/locales\/index\.js$/,
    contents: "export { default as en } from './en.js';",
  },
  {
    file: /\/@modelcontextprotocol\/server\/dist\/shimsNode\.mjs$/,
    contents:
      "export { default as process } from 'node:process';\n" +
      `export class DefaultJsonSchemaValidator { getValidator() { throw new Error('${REFUSAL}'); } }`,
  },
];

/** @type {import('esbuild').Plugin} */
export const slimStartUp = {
  name: 'slim-start-up',
  setup(build) {
    const unused = new Set(REPLACEMENTS);
    for (const replacement of REPLACEMENTS) {
      build.onLoad({ filter: replacement.file }, ({ path }) => {
        unused.delete(replacement);
        return { contents: replacement.contents, resolveDir: path.slice(0, path.lastIndexOf('/')) };
      });
    }
    build.onEnd(() => ({
      errors: [...unused].map(({ file }) => ({
        text: `No file in the bundle matches ${file}; has the package changed?`,
      })),
    }));
  },
};
