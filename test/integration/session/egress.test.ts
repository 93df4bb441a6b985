// Tags: bubblewrap, user
/** Programs in real sandboxes reach the host by HTTP: 127.0.0.1 works there, under the filter of system calls. */
import { describeEgress } from '../../contract/session/egress.ts';
import { coverEngines } from '../../support/covered-engines.ts';
import { TEST_LIMITS } from '../../support/session-harness.ts';

// The embedded engine has no sockets; a Pod may have a network, so the filter refuses them there.
for (const { create, label, name } of await coverEngines()) {
  if (name !== 'embedded' && name !== 'kubernetes') {
    describeEgress(label, () => create({ limits: TEST_LIMITS }));
  }
}
