import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const DEPLOY = new URL('../../deploy/', import.meta.url);

export interface AlertRule {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

export const deployed = (name: string) => fileURLToPath(new URL(name, DEPLOY));

/** Reads the alert rules for Prometheus. */
export async function alertRules(): Promise<AlertRule[]> {
  const { parse } = createRequire(createRequire(import.meta.url).resolve('@fastify/swagger'))('yaml');
  const { groups } = parse(await readFile(deployed('alerts.yaml'), 'utf8')) as {
    groups: { name: string; rules: AlertRule[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

interface Panel {
  title: string;
  type: string;
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: { expr: string; legendFormat: string }[];
}

export interface Dashboard {
  panels: Panel[];
  templating: { list: { name: string; query: string | { query: string } }[] };
}

export const dashboard = async (): Promise<Dashboard> =>
  JSON.parse(await readFile(deployed('dashboard.json'), 'utf8'));

export interface Selector {
  name: string;
  matchers: { label: string; operator: string; value: string }[];
}

/** Returns the series that an expression uses. */
export function selectorsOf(expression: string): Selector[] {
  return [...expression.matchAll(/\b(szafa_\w+)(?:\{([^}]*)\})?/g)].map(([, name, inside = '']) => ({
    name: name!,
    matchers: [...inside.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(([, label, operator, value]) => ({
      label: label!,
      operator: operator!,
      value: value!,
    })),
  }));
}

/** Returns the labels that an expression groups by. */
export const groupings = (expression: string): string[] =>
  [...expression.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list]) =>
    list!.split(',').map((name) => name.trim()),
  );
