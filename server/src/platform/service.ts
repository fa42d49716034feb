/** Base class of services with dependencies. Tests replace the clock. */
export abstract class Service<Deps extends object> {
  protected readonly deps: Deps;
  protected readonly now: () => number;

  constructor(deps: Deps & { now?: () => number }) {
    this.deps = deps;
    this.now = deps.now ?? Date.now;
  }
}
