/** What deploy/ has for Prometheus and Grafana, held against what a running service shows. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { families } from '../../server/src/platform/metrics/families.ts';
import {
  alertRules,
  type Dashboard,
  dashboard,
  deployed,
  groupings,
  selectorsOf,
} from '../harness/expressions.ts';
import { admin, assertOk, sharedUser, useService, usesPostgres, volumesInFolder } from '../harness/index.ts';
import { parseMetrics } from '../harness/metrics.ts';

const service = useService();

/** What a scrape adds to each series, and what the variables of a dashboard stand for. */
const OF_PROMETHEUS = ['instance', 'job'];
/** Shown only by a service that has such a store. */
const ofEngine = (name: string) =>
  (name.startsWith('szafa_s3_') && volumesInFolder()) ||
  (name.startsWith('szafa_database_') && !usesPostgres());

describe('alerts and dashboard', () => {
  let shown: { name: string; labels: Map<string, string> }[] = [];
  let rules: Awaited<ReturnType<typeof alertRules>> = [];
  let board: Dashboard;

  before(async () => {
    assertOk(await (await sharedUser(service)).get(pathOf('me')));
    const answer = await admin(service).get(pathOf('metrics'));
    assert.equal(answer.status, 200);
    shown = [...parseMetrics(answer.text).keys()].map((key) => ({
      name: key.split('{', 1)[0]!,
      labels: new Map([...key.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label!, value!])),
    }));
    [rules, board] = [await alertRules(), await dashboard()];
  });

  const expressions = () => [
    ...rules.map(({ alert, expr }) => ({ where: `alert ${alert}`, expr })),
    ...board.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ where: `panel ${title}`, expr })),
    ),
    ...board.templating.list.flatMap(({ name, query }) =>
      typeof query === 'string' ? [] : [{ where: `variable ${name}`, expr: query.query }],
    ),
  ];

  test('every series that a rule or a panel asks for is there, before anything has happened', () => {
    let seen = 0;
    for (const { where, expr } of expressions()) {
      for (const { name, matchers } of selectorsOf(expr)) {
        if (ofEngine(name)) {
          assert.ok(
            Object.keys(families).some((family) => name.replace(/_bucket$/, '') === family),
            `${where}: ${name}`,
          );
          continue;
        }
        const series = shown.filter((one) => one.name === name);
        assert.ok(series.length > 0, `${where}: there is no ${name}`);
        for (const { label, operator, value } of matchers.filter(
          (one) => !OF_PROMETHEUS.includes(one.label),
        )) {
          const wanted = operator.endsWith('~')
            ? new RegExp(`^(?:${value})$`)
            : new RegExp(`^${RegExp.escape(value)}$`);
          const found = series.some(({ labels }) => wanted.test(labels.get(label) ?? ''));
          assert.ok(found, `${where}: no ${name} has ${label}="${value}"`);
        }
        seen++;
      }
    }
    assert.ok(seen > 40, `${seen} selectors`);
  });

  test('what is grouped by, and named in a legend or a text, is a label of the series', () => {
    const labelsOf = (expr: string) => {
      const names = new Set(selectorsOf(expr).map(({ name }) => name));
      const own = shown.filter(({ name }) => names.has(name)).flatMap(({ labels }) => [...labels.keys()]);
      return new Set([...own, ...OF_PROMETHEUS]);
    };
    for (const { where, expr } of expressions()) {
      if (selectorsOf(expr).some(({ name }) => ofEngine(name))) continue;
      for (const label of groupings(expr)) assert.ok(labelsOf(expr).has(label), `${where}: by ${label}`);
    }
    for (const { title, targets = [] } of board.panels) {
      for (const { expr, legendFormat } of targets) {
        const kept = [...groupings(expr), ...(groupings(expr).length === 0 ? OF_PROMETHEUS : [])];
        for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
          assert.ok(kept.includes(label!), `panel ${title}: legend ${label}`);
        }
      }
    }
    for (const { alert, expr, annotations } of rules) {
      for (const [, label] of Object.values(annotations)
        .join()
        .matchAll(/\$labels\.(\w+)/g)) {
        assert.ok(expr.includes(label!) || OF_PROMETHEUS.includes(label!), `alert ${alert}: ${label}`);
      }
    }
  });

  test('each rule says how bad it is, what it is, and what to do; and the documentation has it', async () => {
    const names = rules.map(({ alert }) => alert);
    assert.deepEqual([...new Set(names)], names, 'each name once');
    const docs = await readFile(deployed('../docs/operations.md'), 'utf8');
    for (const rule of rules) {
      const { alert, labels, annotations } = rule;
      assert.match(alert, /^Szafa[A-Za-z0-9]+$/);
      assert.match(rule.for ?? '0m', /^\d+[mhd]$/, alert);
      assert.ok(['critical', 'warning'].includes(labels['severity']!), alert);
      assert.ok(annotations['summary'] && annotations['description'], alert);
      assert.ok(docs.includes(`\`${alert}\``), `docs/operations.md does not tell of ${alert}`);
    }
    for (const name of Object.keys(families)) {
      assert.ok(docs.includes(`\`${name}`), `docs/operations.md does not tell of ${name}`);
    }
  });

  test('no panel of the dashboard covers another', () => {
    const taken = new Set<string>();
    for (const { title, gridPos } of board.panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          assert.ok(x < 24 && !taken.has(`${x} ${y}`), title);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });
});
