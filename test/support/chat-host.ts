/** A host of MCP Apps for tests: a page, and on another origin the sandbox in which it shows views, with the policy that the host must set. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** What a resource declares (SEP-1865, `ui.csp`). */
interface DeclaredPolicy {
  readonly connectDomains?: readonly string[];
  readonly resourceDomains?: readonly string[];
  readonly frameDomains?: readonly string[];
  readonly baseUriDomains?: readonly string[];
}

export interface ChatHost {
  readonly address: string;
  /** Of the sandbox, for a page that declares this; undefined for a page that declares nothing. */
  sandboxFor(declared: DeclaredPolicy | undefined): string;
  close(): Promise<void>;
}

/** SEP-1865, version 2026-01-26: "Restrictive Default", and "CSP Construction from Metadata". */
function policyFor(declared: DeclaredPolicy | undefined): string {
  if (declared === undefined) {
    return "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'";
  }
  const { baseUriDomains = [], connectDomains = [], frameDomains = [], resourceDomains = [] } = declared;
  const and = (domains: readonly string[]): string => domains.map((domain) => ` ${domain}`).join('');
  const resources = and(resourceDomains);
  return [
    "default-src 'none'",
    `script-src 'self' 'unsafe-inline'${resources}`,
    `style-src 'self' 'unsafe-inline'${resources}`,
    `connect-src 'self'${and(connectDomains)}`,
    `img-src 'self' data:${resources}`,
    `font-src 'self'${resources}`,
    `media-src 'self' data:${resources}`,
    `frame-src${frameDomains.length === 0 ? " 'none'" : and(frameDomains)}`,
    "object-src 'none'",
    `base-uri${baseUriDomains.length === 0 ? " 'self'" : and(baseUriDomains)}`,
  ].join('; ');
}

export async function startChatHost(): Promise<ChatHost> {
  const [host, sandbox] = await Promise.all(['host', 'sandbox'].map(pageOf));
  const [outer, inner] = [
    createServer((_request, response) => response.setHeader('Content-Type', 'text/html; charset=utf-8').end(host)),
    createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://sandbox');
      const declared = searchParams.get('csp');
      response.setHeader('Content-Security-Policy', policyFor(JSON.parse(declared ?? 'null') ?? undefined));
      response.setHeader('Content-Type', 'text/html; charset=utf-8').end(sandbox);
    }),
  ];
  const [address, sandboxAddress] = await Promise.all([outer, inner].map(listen));
  return {
    address: address ?? '',
    sandboxFor: (declared) =>
      `${sandboxAddress}/?${new URLSearchParams(declared === undefined ? {} : { csp: JSON.stringify(declared) }).toString()}`,
    async close() {
      await Promise.all(
        [outer, inner].map(
          (server) =>
            new Promise((resolve) => {
              server.close(resolve);
              server.closeAllConnections();
            }),
        ),
      );
    },
  };
}

async function pageOf(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../fixtures/chat-host/${name}.mjs`, import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    logLevel: 'warning',
  });
  const script = (outputFiles[0]?.text ?? '').replaceAll('</script', '<\\/script');
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${name}</title><style>html, body { height: 100%; margin: 0 }</style><body><script type="module">${script}</script></body></html>`;
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
