/** The manifests in `deploy/kubernetes`: what they allow and forbid, and that the Kustomize base and the chart are the same. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import packageJson from '../../../package.json' with { type: 'json' };
import { networkPolicy, POLICY_NAME } from '../../../src/edges/engines/kubernetes/pod.ts';
import { CLAIM_RIGHTS, POD_RIGHTS, POLICY_RIGHTS } from '../../../src/edges/engines/kubernetes/rights.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { ROOT } from '../../support/bridge-client.ts';
import { readFences } from '../../support/documented-samples.ts';
import { readObjects, renderChart } from '../../support/helm.ts';

const FOLDER = join(ROOT, 'deploy', 'kubernetes');
const BASE = join(FOLDER, 'base');
const CHART = join(FOLDER, 'chart');
const NAMESPACE = 'mcp-bridge';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly livenessProbe?: object;
  readonly readinessProbe?: object;
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers: readonly Container[];
  readonly terminationGracePeriodSeconds: number;
  readonly volumes: readonly Record<string, unknown>[];
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  readonly rules?: readonly Rule[];
  readonly spec?: unknown;
}

const kustomization = parse(readFileSync(join(BASE, 'kustomization.yaml'), 'utf8')) as {
  namespace: string;
  resources: string[];
};
const base = kustomization.resources.flatMap((file) =>
  readObjects(readFileSync(join(BASE, file), 'utf8')),
) as Manifest[];
const chart = renderChart(CHART, NAMESPACE) as Manifest[];

function find(kind: string, name = 'mcp-bridge', objects = base): Manifest {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  return found ?? expect.fail(`there is no ${kind} ${name}`);
}
const podOf = (objects = base) =>
  (find('Deployment', 'mcp-bridge', objects).spec as { template: { spec: PodSpec; metadata: object } }).template;
const bridgeOf = (objects = base): Container =>
  podOf(objects).spec.containers[0] ?? expect.fail('there is no container');

describe('the base', () => {
  it('lists all of its files, in the namespace of its own', () => {
    const files = readdirSync(BASE).filter((file) => file !== 'kustomization.yaml');
    expect(kustomization.resources.toSorted()).toEqual(files.toSorted());
    expect(kustomization.namespace).toBe(NAMESPACE);
    expect(find('Namespace').metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
  });

  it('is what the chart is', () => {
    const withoutNamespace = base.filter(({ kind }) => kind !== 'Namespace');
    const sorted = (objects: readonly Manifest[]) =>
      objects.toSorted((a, b) => (`${a.kind} ${a.metadata.name}` < `${b.kind} ${b.metadata.name}` ? -1 : 1));
    expect(sorted(chart).map(normal)).toEqual(sorted(withoutNamespace).map(normal));
  });

  /** JSON in text may be spaced as it likes. */
  function normal(object: Manifest): Manifest {
    const servers = object.data?.['servers.json'];
    return servers === undefined
      ? object
      : { ...object, data: { ...object.data, 'servers.json': JSON.stringify(JSON.parse(servers)) } };
  }
});

describe('the Role', () => {
  const asRule = ({ group, resource, verbs }: (typeof POD_RIGHTS)[number]): Rule => ({
    apiGroups: [group],
    resources: [resource],
    verbs,
  });

  it('has what the engine needs, and no more', () => {
    expect(find('Role').rules).toEqual([
      ...POD_RIGHTS.map(asRule),
      // The policy is there already.
      { ...asRule(POLICY_RIGHTS), resourceNames: [POLICY_NAME], verbs: ['get'] },
    ]);
    expect(base.map(({ kind }) => kind).filter((kind) => kind.startsWith('Cluster'))).toEqual([]);
  });

  it('in the documentation also creates the policy', () => {
    const [documented] = readObjects(readFences('docs/kubernetes.md', 'yaml')[0] ?? '') as Manifest[];
    expect(documented?.rules).toEqual([...POD_RIGHTS, POLICY_RIGHTS].map(asRule));
  });

  it('for a warm pool has what the engine needs then', () => {
    const [role, binding] = readObjects(
      readFileSync(join(FOLDER, 'agent-sandbox', 'rights.yaml'), 'utf8'),
    ) as Manifest[];
    expect(role?.rules).toEqual(CLAIM_RIGHTS.map(asRule));
    expect(binding).toMatchObject({ roleRef: { name: role?.metadata.name }, subjects: [{ name: 'mcp-bridge' }] });
  });

  it('is bound to the bridge, whose Pods alone have its token', () => {
    expect(find('RoleBinding')).toMatchObject({
      roleRef: { kind: 'Role', name: 'mcp-bridge' },
      subjects: [{ kind: 'ServiceAccount', name: 'mcp-bridge', namespace: NAMESPACE }],
    });
    expect(find('ServiceAccount')).toMatchObject({ automountServiceAccountToken: false });
    expect(podOf().spec).toMatchObject({ serviceAccountName: 'mcp-bridge', automountServiceAccountToken: true });
  });
});

describe('the Pod', () => {
  const { initContainers, containers, ...spec } = podOf().spec;
  const all = [...initContainers, ...containers];

  it('satisfies the standard "restricted", with a read-only root', () => {
    expect(spec).toMatchObject({
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(Object.keys(spec).filter((key) => key.startsWith('host'))).toEqual([]);
    for (const { securityContext } of all) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
    const kinds = spec.volumes.flatMap((volume) => Object.keys(volume).filter((key) => key !== 'name'));
    expect(kinds.toSorted()).toEqual(['configMap', 'emptyDir', 'emptyDir', 'persistentVolumeClaim']);
  });

  it('has the image of this version, with the folders that it writes to', () => {
    expect(all.map(({ image }) => image)).toEqual(all.map(() => `mcp-bridge:${packageJson.version}`));
    const image = readFileSync(join(ROOT, 'deploy/image/Containerfile'), 'utf8');
    const [, home, state = ''] = /^ENV HOME=(\S+) MCP_BRIDGE_STATE_DIR=(\S+)$/m.exec(image) ?? [];
    for (const { volumeMounts } of all) {
      const paths = volumeMounts.map(({ mountPath }) => mountPath);
      expect(paths.slice(0, 3)).toEqual([dirname(state), home, '/tmp']);
    }
    const chartFile = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as Record<string, string>;
    expect([chartFile['version'], chartFile['appVersion']]).toEqual([packageJson.version, packageJson.version]);
  });

  it('has settings that the bridge accepts, and none from Services', () => {
    const { POD_NAMESPACE, POD_NAME, POD_UID } = { POD_NAMESPACE: NAMESPACE, POD_NAME: 'mcp-bridge-x', POD_UID: '1-2' };
    const own = Object.fromEntries(
      (bridgeOf().env ?? []).flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
    );
    const env = {
      ...find('ConfigMap', 'mcp-bridge-settings').data,
      ...own,
      MCP_BRIDGE_KUBERNETES_OWNER: own['MCP_BRIDGE_KUBERNETES_OWNER']
        ?.replace('$(POD_NAMESPACE)', POD_NAMESPACE)
        .replace('$(POD_NAME)', POD_NAME)
        .replace('$(POD_UID)', POD_UID),
    };
    expect(loadSettings(env)).toMatchObject({
      runtime: 'kubernetes',
      kubernetesOwner: { namespace: NAMESPACE, name: 'mcp-bridge-x', uid: '1-2' },
      serversConfig: '/etc/mcp-bridge/servers.json',
    });
    expect(spec).toMatchObject({ enableServiceLinks: false });
  });

  it('is asked at the paths of the server, and has time to drain', () => {
    expect(bridgeOf()).toMatchObject({
      livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
      readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
      ports: [{ name: 'http', containerPort: 7411 }],
    });
    const { args = [], lifecycle } = bridgeOf();
    expect(args.slice(0, 3)).toEqual(['serve', '--http', '0.0.0.0:7411']);
    const drain = Number.parseInt(args[args.indexOf('--drain') + 1] ?? '', 10);
    const pause = Number(lifecycle?.preStop.exec.command[1]);
    // After the drain, sessions are saved: CLOSE_LIMIT_MS in src/app/bridge/serve-http.ts.
    const [, closeMs = ''] =
      /CLOSE_LIMIT_MS = ([\d_]+)/.exec(readFileSync(join(ROOT, 'src/app/bridge/serve-http.ts'), 'utf8')) ?? [];
    const needed = pause + drain + Number(closeMs.replaceAll('_', '')) / 1000;
    expect(needed).toBeGreaterThan(30);
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(needed + 5);
  });
});

describe('what is around the Pod', () => {
  it('finds it by its label', () => {
    const labels = { 'app.kubernetes.io/name': 'mcp-bridge' };
    expect(podOf().metadata).toEqual({ labels });
    expect(find('Service').spec).toMatchObject({ selector: labels, ports: [{ targetPort: 'http' }] });
    expect(find('PodDisruptionBudget').spec).toEqual({ maxUnavailable: 1, selector: { matchLabels: labels } });
    expect(find('Deployment').spec).toMatchObject({ selector: { matchLabels: labels } });
    expect(find('NetworkPolicy').spec).toMatchObject({ podSelector: { matchLabels: labels } });
  });

  it('allows sandboxes no network, as the bridge would', () => {
    const { metadata, ...policy } = find('NetworkPolicy', POLICY_NAME);
    expect({ ...policy, metadata: { name: metadata.name } }).toEqual(networkPolicy());
  });

  it('lets only the ingress controller in, and only names, TLS and the API out', () => {
    expect(find('NetworkPolicy').spec).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ namespaceSelector: expect.anything() }], ports: [{ port: 7411 }] }],
      egress: [{ ports: [{ port: 53 }, { port: 53 }] }, { ports: [{ port: 443 }, { port: 6443 }] }],
    });
  });

  it('is storage that all replicas write to', () => {
    expect(find('Deployment').spec).toMatchObject({ replicas: 2 });
    expect(find('PersistentVolumeClaim', 'mcp-bridge-state').spec).toMatchObject({ accessModes: ['ReadWriteMany'] });
  });
});

describe('the values of the chart', () => {
  const defaults = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Record<string, object>;
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as { properties: object };
  const validate = new Ajv({ strict: false }).compile(schema);

  it('satisfy their schema, which names them all', () => {
    expect([validate(defaults), validate.errors]).toEqual([true, null]);
    expect(Object.keys(schema.properties).filter((key) => key !== 'global')).toEqual(Object.keys(defaults));
  });

  it.each([
    ['several replicas on storage for one', { state: { accessMode: 'ReadWriteOnce', size: '1Gi' } }],
    ['a setting that is a number', { settings: { MCP_BRIDGE_MAX_SESSIONS: 32 } }],
    ['a setting that the manifests set', { settings: { MCP_BRIDGE_STATE_DIR: '/elsewhere' } }],
    ['an unknown value', { replicaCount: 3 }],
  ])('refuse %s', (_what, values) => {
    expect(validate({ ...defaults, ...values })).toBe(false);
  });

  it('reach the manifests', () => {
    const objects = renderChart(CHART, 'other', {
      replicas: 1,
      host: 'code.example.com',
      secret: 'keys',
      servers: { docs: { url: 'https://docs.example.com/mcp' } },
      state: { accessMode: 'ReadWriteOnce', size: '1Gi', storageClass: 'fast', existingClaim: '' },
      nodeSelector: { pool: 'bridges' },
      image: { repository: 'registry.example.com/mcp-bridge', tag: '9', pullSecrets: [{ name: 'login' }] },
    }) as Manifest[];
    expect(find('Deployment', 'mcp-bridge', objects).spec).toMatchObject({ replicas: 1 });
    expect(podOf(objects).spec).toMatchObject({
      imagePullSecrets: [{ name: 'login' }],
      nodeSelector: { pool: 'bridges' },
    });
    expect(bridgeOf(objects)).toMatchObject({
      image: 'registry.example.com/mcp-bridge:9',
      envFrom: [{ configMapRef: { name: 'mcp-bridge-settings' } }, { secretRef: { name: 'keys' } }],
    });
    expect(find('ConfigMap', 'mcp-bridge-servers', objects).data).toEqual({
      PUBLIC_HOST: 'code.example.com',
      'servers.json': '{ "mcpServers": {"docs":{"url":"https://docs.example.com/mcp"}} }\n',
    });
    expect(find('PersistentVolumeClaim', 'mcp-bridge-state', objects).spec).toEqual({
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'fast',
      resources: { requests: { storage: '1Gi' } },
    });
    expect(find('RoleBinding', 'mcp-bridge', objects)).toMatchObject({ subjects: [{ namespace: 'other' }] });
    const claimed = renderChart(CHART, 'other', { state: { existingClaim: 'mine' } }) as Manifest[];
    expect(claimed.filter(({ kind }) => kind === 'PersistentVolumeClaim')).toEqual([]);
    expect(podOf(claimed).spec.volumes[0]).toMatchObject({ persistentVolumeClaim: { claimName: 'mine' } });
  });
});

describe('docs/deploy.md', () => {
  const [overlay, ingress] = readFences('docs/deploy.md', 'yaml').flatMap(readObjects) as Record<string, unknown>[];

  it('names files that exist', () => {
    const named = readFileSync(join(ROOT, 'docs/deploy.md'), 'utf8').match(/\bdeploy\/[\w./-]*\w/g) ?? [];
    // A Deployment is named in the same way.
    const lost = named.filter((path) => path !== 'deploy/mcp-bridge' && !existsSync(join(ROOT, path)));
    expect(named.length).toBeGreaterThan(8);
    expect(lost).toEqual([]);
  });

  it('has an overlay of the base that changes what is there', () => {
    expect(overlay).toMatchObject({ kind: 'Kustomization', resources: ['../deploy/kubernetes/base'] });
    const { images, patches } = overlay as { images: { name: string }[]; patches: { patch: string }[] };
    expect(images.map(({ name }) => `${name}:${packageJson.version}`)).toEqual([bridgeOf().image]);
    const [patch] = readObjects(patches[0]?.patch ?? '') as Manifest[];
    const patched = find(patch?.kind ?? '', patch?.metadata.name);
    expect(Object.keys(patch?.data ?? {})).toEqual(Object.keys(patched.data ?? {}));
    expect(JSON.parse(patch?.data?.['servers.json'] ?? '')).toHaveProperty('mcpServers.docs.url');
  });

  it('has an Ingress to the Service, for the paths that a proxy forwards', () => {
    const { rules } = (ingress ?? expect.fail('there is none'))['spec'] as {
      rules: { http: { paths: { path: string; backend: { service: { name: string; port: { name: string } } } }[] } }[];
    };
    const paths = rules[0]?.http.paths ?? [];
    expect(paths.map(({ path }) => path)).toEqual(['/mcp', '/login', '/.well-known/oauth-protected-resource']);
    const { ports } = find('Service').spec as { ports: { name: string }[] };
    for (const { backend } of paths) {
      expect(backend.service).toEqual({ name: find('Service').metadata.name, port: { name: ports[0]?.name } });
    }
  });
});
