import cluster, { type Worker } from 'node:cluster';

interface Message {
  topic: string;
  id: number;
  question?: unknown;
  answer?: unknown;
  failed?: boolean;
}

type Receiver = (message: Message, worker: Worker | undefined) => void;

const receivers = new Map<string, Receiver>();

function receive(message: unknown, worker?: Worker): void {
  if (typeof message !== 'object' || message === null || !('topic' in message)) return;
  receivers.get((message as Message).topic)?.(message as Message, worker);
}

function listen(topic: string, receiver: Receiver): void {
  if (receivers.size === 0) {
    if (cluster.isWorker) process.on('message', (message: unknown) => receive(message));
    else cluster.on('message', (worker, message: unknown) => receive(message, worker));
  }
  receivers.set(topic, receiver);
}

/** Sends to a worker, or to the primary if none is given. Does nothing if the peer is gone. */
function send(message: Message, worker: Worker | undefined): void {
  if (worker) {
    if (worker.isConnected()) worker.send(message);
  } else process.send?.(message);
}

interface Pending<Answer> {
  worker: Worker | undefined;
  settle: (answer?: Answer) => void;
}

/** Questions of one kind between the primary and its workers. Both sides use the same topic name, and either may ask. */
export class Topic<Question, Answer> {
  readonly #name: string;
  readonly #pending = new Map<number, Pending<Answer>>();
  #lastId = 0;
  #isListening = false;
  #handler: ((question: Question, worker: Worker) => Answer | Promise<Answer>) | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /**
   * Answers questions from the other side from now on. In the primary, `worker` is the worker that asks; in a worker it is
   * undefined.
   */
  answer(handler: (question: Question, worker: Worker) => Answer | Promise<Answer>): void {
    this.#handler = handler;
    this.#listen();
  }

  /** Asks the primary from a worker. Rejects if the primary fails to answer, or does not answer within `ms`. */
  async askPrimary(question: Question, ms?: number): Promise<Answer> {
    const answer = await new Promise<Answer | undefined>((resolve) =>
      this.#ask(question, undefined, resolve, ms),
    );
    if (answer === undefined) throw new Error(`the primary process did not answer: ${this.#name}`);
    return answer;
  }

  /**
   * Asks all workers from the primary. Resolves when all have answered or died, and after `ms` in any case. `take` also gets
   * later answers, unless their worker has died.
   */
  async askWorkers(
    question: Question,
    ms: number,
    take: (answer: Answer, worker: Worker) => void,
  ): Promise<void> {
    const workers = (Object.values(cluster.workers ?? {}) as Worker[]).filter((worker) =>
      worker.isConnected(),
    );
    const all = workers.map(
      (worker) =>
        new Promise<void>((resolve) => {
          this.#ask(question, worker, (answer) => {
            if (answer !== undefined) take(answer, worker);
            resolve();
          });
        }),
    );
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, ms);
    await Promise.race([Promise.all(all), late.promise]);
    clearTimeout(timer);
  }

  #ask(
    question: Question,
    worker: Worker | undefined,
    onAnswer: (answer?: Answer) => void,
    ms?: number,
  ): void {
    this.#listen();
    const id = ++this.#lastId;
    const timer = ms === undefined ? undefined : setTimeout(() => settle(), ms);
    const settle = (answer?: Answer) => {
      clearTimeout(timer);
      this.#pending.delete(id);
      onAnswer(answer);
    };
    this.#pending.set(id, { worker, settle });
    send({ topic: this.#name, id, question }, worker);
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    listen(this.#name, (message, worker) => this.#receive(message, worker));
    cluster.on('exit', (dead: Worker) => {
      for (const { worker, settle } of this.#pending.values()) if (worker === dead) settle();
    });
  }

  #receive({ topic, id, question, answer, failed }: Message, worker: Worker | undefined): void {
    if (answer !== undefined || failed) this.#pending.get(id)?.settle(answer as Answer | undefined);
    else if (this.#handler) {
      const handled = Promise.try(this.#handler, question as Question, worker!);
      handled.then(
        (result) => send({ topic, id, answer: result }, worker),
        () => send({ topic, id, failed: true }, worker),
      );
    }
  }
}
