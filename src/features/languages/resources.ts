/** Snippets as MCP resources, so that a client shows what can be run by name. */
import { messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import type { ResourceProvider } from '../../front/server/resources.ts';
import type { Snippets } from './snippets.ts';

const PREFIX = 'resource://mcp-server-code-execution-mode/snippets/';
/** By language; everything else is `text/plain`. */
const TYPES: Readonly<Record<string, string>> = {
  bash: 'text/x-shellscript',
  go: 'text/x-go',
  javascript: 'text/javascript',
  python: 'text/x-python',
  typescript: 'text/typescript',
};

export function snippetResources(snippets: Snippets, logger: Logger): ResourceProvider {
  return {
    async list() {
      try {
        const usable = (await snippets.list()).filter(({ problem }) => problem === undefined);
        return usable.map(({ language, modified, name, sizeBytes }) => ({
          uri: PREFIX + name,
          name,
          description: `Stored snippet in ${language?.name}.`,
          mimeType: typeOf(language?.name),
          size: sizeBytes,
          annotations: { lastModified: modified.toISOString() },
        }));
      } catch (error) {
        // The other resources must stay visible; running a snippet reports the problem to the client.
        logger.warning(`Snippets are not listed: ${messageOf(error)}`);
        return [];
      }
    },
    async read(uri) {
      if (!uri.startsWith(PREFIX)) {
        return undefined;
      }
      const { code, language } = await snippets.find(uri.slice(PREFIX.length));
      return { uri, mimeType: typeOf(language.name), text: code };
    },
  };
}

function typeOf(language: string | undefined): string {
  return TYPES[language ?? ''] ?? 'text/plain';
}
