/**
 * The programs in `test/fixtures/egress`: what an agent writes in a cell to use an API whose key it does not have. Each prints one line
 * that starts with `ok`. The versions of the packages are in `requirements.txt` beside them.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { FakeInternet } from './fake-internet.ts';

export interface SdkProgram {
  /** Its name in `createSdkApis`. */
  readonly api: string;
  /** Packages from PyPI. */
  readonly packages: readonly string[];
  /**
   * What variables alone do not give its library: `connections`, because it reads none for a proxy (httplib2 does so with another
   * package), or `authorities`, because it brings its own ones.
   */
  readonly needs?: 'connections' | 'authorities';
}

export const SDK_PROGRAM_FOLDER = join(import.meta.dirname, '..', 'fixtures', 'egress');

/** By file. */
export const SDK_PROGRAMS: Readonly<Record<string, SdkProgram>> = {
  'airtable_records.py': { api: 'airtable', packages: ['pyairtable'] },
  'anthropic_messages.py': { api: 'anthropic', packages: ['anthropic'] },
  'aws_services.py': { api: 'aws', packages: ['boto3'] },
  'github_issues.py': { api: 'github', packages: ['PyGithub'] },
  'hubspot_contacts.py': { api: 'hubspot', packages: ['hubspot-api-client'], needs: 'connections' },
  'notion_page.py': { api: 'notion', packages: ['notion-client'] },
  'openai_chat.py': { api: 'openai', packages: ['openai'] },
  'plain_aiohttp.py': { api: 'plain', packages: ['aiohttp'] },
  'plain_httplib2.py': { api: 'plain', packages: ['httplib2'], needs: 'connections' },
  'plain_httpx.py': { api: 'plain', packages: ['httpx'] },
  'plain_requests.py': { api: 'plain', packages: ['requests'] },
  'plain_unproxied.py': { api: 'plain', packages: ['aiohttp', 'urllib3'], needs: 'connections' },
  'plain_urllib.py': { api: 'plain', packages: [] },
  'plain_urllib3.py': { api: 'plain', packages: ['urllib3'] },
  'sendgrid_mail.py': { api: 'sendgrid', packages: ['sendgrid'] },
  'slack_message.py': { api: 'slack', packages: ['slack_sdk', 'aiohttp'] },
  'stripe_customers.py': { api: 'stripe', packages: ['stripe'], needs: 'authorities' },
  'twilio_message.py': { api: 'twilio', packages: ['twilio'] },
};

/** Runs its input as a cell does: `await` may stand outside of functions. */
const RUN_AS_CELL = `
import ast, asyncio, inspect, sys
code = compile(sys.stdin.read(), "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
async def main():
    ended = eval(code, {"__name__": "__main__"})
    if inspect.iscoroutine(ended):
        await ended
asyncio.run(main())
`;

/** What a program prints without a sandbox, with these variables and the internet of the test. Its traceback comes last. */
export function runOutside(
  code: string,
  { proxyUrl, certificateFile }: Pick<FakeInternet, 'proxyUrl' | 'certificateFile'>,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const own = {
    PATH: process.env['PATH'] ?? '',
    HTTP_PROXY: proxyUrl,
    HTTPS_PROXY: proxyUrl,
    SSL_CERT_FILE: certificateFile,
    REQUESTS_CA_BUNDLE: certificateFile,
  };
  return new Promise((resolve) => {
    const program = execFile(
      'python3',
      ['-c', RUN_AS_CELL],
      { env: { ...own, ...env }, maxBuffer: Number.POSITIVE_INFINITY },
      (_error, out, err) => resolve(out + err),
    );
    program.stdin?.end(code);
  });
}
