/** What deploy/ has for Prometheus and Grafana, in a real Prometheus that scrapes a real service. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Daemon, freePort } from '../engines/daemon.ts';
import { alertRules, dashboard, deployed } from '../harness/expressions.ts';
import { eventually, register, send, upload, withService } from '../harness/index.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'szafa-alerts-'));
  for (const name of ['alerts.yaml', 'prometheus.yaml']) await copyFile(deployed(name), join(folder, name));
});
after(() => rm(folder, { recursive: true, force: true }));

function promtool(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' });
  assert.equal(status, 0, `promtool ${args.join(' ')}: ${stderr}${stdout}`);
}

test('promtool takes the rules and the configuration', async () => {
  promtool('check', 'rules', 'alerts.yaml');
  promtool('check', 'config', '--syntax-only', 'prometheus.yaml');
});

/** Series over time, in promtool's notation, and the alerts that they raise at the end. */
const CASES: { series: Record<string, string>; minutes: number; raises: string[] }[] = [
  {
    series: {
      'up{job="szafa",instance="a"}': '1x400',
      'szafa_store_errors_total{store="volumes"}': '0x400',
      'szafa_answers_total{class="2xx"}': '0+60x400',
      'szafa_answers_total{class="5xx"}': '0x400',
      szafa_store_contested: '0x400',
      szafa_scrub_faults: '0x400',
      szafa_orphans: '0x400',
      szafa_scrub_interval_seconds: '0x400',
      szafa_scrub_ended_timestamp_seconds: '0x400',
      szafa_scrub_begun_timestamp_seconds: '0x400',
      'szafa_login_failures_total{reason="wrong"}': '0+1x400',
      'szafa_disk_bytes{instance="a"}': '1000x400',
      'szafa_disk_free_bytes{instance="a"}': '500x400',
      'szafa_disk_reserve_bytes{instance="a"}': '10x400',
      'szafa_build_info{version="1",instance="a"}': '1x400',
      'szafa_build_info{version="1",instance="b"}': '1x400',
      szafa_sweep_success_timestamp_seconds: '0+60x400',
      szafa_garbage_groups: '5000-10x400',
    },
    minutes: 390,
    raises: [],
  },
  {
    series: {
      'up{job="szafa",instance="a"}': '0x60',
      'szafa_store_errors_total{store="volumes"}': '0+1x60',
      'szafa_answers_total{class="2xx"}': '0+60x60',
      'szafa_answers_total{class="5xx"}': '0+3x60',
      szafa_store_contested: '1x60',
      szafa_scrub_faults: '1x60',
      'szafa_login_failures_total{reason="wrong"}': '0+400x60',
      'szafa_disk_bytes{instance="a"}': '1000x60',
      'szafa_disk_free_bytes{instance="a"}': '50x60',
      'szafa_disk_reserve_bytes{instance="a"}': '10x60',
      szafa_sweep_success_timestamp_seconds: '0x60',
      'szafa_volumes_rejected_total{reason="digest"}': '0+1x60',
      'szafa_database_waiting{instance="a"}': '3x60',
      'szafa_event_loop_lag_seconds_bucket{instance="a",le="0.5"}': '0+1x60',
      'szafa_event_loop_lag_seconds_bucket{instance="a",le="2"}': '0+9x60',
      'szafa_event_loop_lag_seconds_bucket{instance="a",le="+Inf"}': '0+9x60',
      'szafa_s3_request_seconds_bucket{method="PUT",le="2"}': '0+1x60',
      'szafa_s3_request_seconds_bucket{method="PUT",le="10"}': '0+9x60',
      'szafa_s3_request_seconds_bucket{method="PUT",le="+Inf"}': '0+9x60',
      'szafa_s3_failures_total{method="PUT"}': '0+30x60',
    },
    minutes: 59,
    raises: [
      ...['SzafaDown', 'SzafaStoreErrors', 'SzafaServerErrors', 'SzafaContested', 'SzafaVolumesLost'],
      ...['SzafaDiskNearlyFull', 'SzafaNotSwept', 'SzafaLoginFailures', 'SzafaVolumesRejected'],
      ...['SzafaDatabaseConnections', 'SzafaEventLoopLag', 'SzafaS3Slow', 'SzafaS3Failures'],
    ],
  },
  {
    series: {
      'szafa_disk_bytes{instance="a"}': '100000x3000',
      'szafa_disk_free_bytes{instance="a"}': '90000-20x3000',
      'szafa_disk_reserve_bytes{instance="a"}': '10x3000',
      szafa_garbage_groups: '2000+10x3000',
      szafa_orphans: '1x3000',
      szafa_scrub_interval_seconds: '86400x3000',
      // While none has ever ended, it is late by its beginning; here one began and never ended.
      szafa_scrub_ended_timestamp_seconds: '0x3000',
      szafa_scrub_begun_timestamp_seconds: '-200000x3000',
      'szafa_build_info{version="1",instance="a"}': '1x3000',
      'szafa_build_info{version="2",instance="b"}': '1x3000',
    },
    minutes: 2950,
    raises: ['SzafaDiskFills', 'SzafaGarbageGrows', 'SzafaOrphans', 'SzafaScrubLate', 'SzafaVersionsDiffer'],
  },
];

test('each alert is raised by what it is for, and none when all is well', async () => {
  const rules = await alertRules();
  const raised = new Set(CASES.flatMap(({ raises }) => raises));
  assert.deepEqual([...raised].sort(), rules.map(({ alert }) => alert).sort(), 'each is tried');
  for (const [at, { series, minutes, raises }] of CASES.entries()) {
    const query = 'count by (alertname) (ALERTS{alertstate="firing"}) > bool 0';
    const file = {
      rule_files: ['alerts.yaml'],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          promql_expr_test: [
            {
              expr: query,
              eval_time: `${minutes}m`,
              exp_samples: raises.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
            },
          ],
        },
      ],
    };
    await writeFile(join(folder, `case-${at}.json`), JSON.stringify(file));
    promtool('test', 'rules', `case-${at}.json`);
  }
});

interface Evaluated {
  status: string;
  data: { result: { metric: Record<string, string>; value: [number, string] }[] };
}

test('Prometheus scrapes a service, evaluates every rule and every panel, and raises no alert', async () => {
  const metricsPort = await freePort();
  const port = await freePort();
  await withService({ env: { SZ_METRICS_PORT: String(metricsPort) } }, async (service) => {
    await upload(await register(service));
    const configuration = (await readFile(deployed('prometheus.yaml'), 'utf8'))
      .replace('scrape_interval: 15s', 'scrape_interval: 1s\n  evaluation_interval: 1s')
      .replace(/^ *authorization:\n.*\n/m, '')
      .replace(/targets: \[.*\]/, `targets: ["127.0.0.1:${metricsPort}"]`);
    await writeFile(join(folder, 'here.yaml'), configuration);
    const command = ['prometheus', `--config.file=${join(folder, 'here.yaml')}`];
    const flags = [`--storage.tsdb.path=${join(folder, 'data')}`, `--web.listen-address=127.0.0.1:${port}`];
    const daemon = new Daemon([...command, ...flags], { log: join(folder, 'log') });
    const base = `http://127.0.0.1:${port}`;
    try {
      const ask = async (expr: string) => {
        const path = `/api/v1/query?query=${encodeURIComponent(expr)}`;
        const { status, json, text } = await send(base, { path });
        assert.equal(status, 200, `${expr}: ${text}`);
        return (json as unknown as Evaluated).data.result;
      };
      const scraped = async () =>
        assert.equal((await ask('count_over_time(szafa_accounts[1m]) > 5')).length, 1);
      await eventually(scraped, 60_000);
      const { panels } = await dashboard();
      const targets = panels.flatMap(({ title, targets = [] }) =>
        targets.map(({ expr }) => ({ title, expr })),
      );
      for (const { title, expr } of targets) {
        // No S3 and no PostgreSQL here.
        if (/szafa_(s3|database)_/.test(expr)) continue;
        const here = expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*');
        assert.ok((await ask(here)).length > 0, `panel ${title} is empty: ${here}`);
      }
      const { json } = await send(base, { path: '/api/v1/rules' });
      const { data } = json as unknown as {
        data: { groups: { rules: { name: string; health: string; state: string }[] }[] };
      };
      const found = data.groups.flatMap(({ rules }) => rules);
      assert.equal(found.length, (await alertRules()).length);
      for (const { name, health, state } of found) {
        assert.equal(health, 'ok', name);
        // One that looks ahead may be of another mind while it has seen only seconds; none holds for long enough.
        assert.notEqual(state, 'firing', name);
      }
    } finally {
      await daemon.kill('SIGTERM');
    }
  });
});
