/**
 * A few threads for work that cannot be bounded from inside. Each task has a deadline and its thread a limit of memory:
 * a thread that reaches either is stopped and replaced, and nobody but the task's owner notices. Owners take turns, and
 * none holds all threads at once. Threads start when they are first needed and end when they have been idle for a while.
 *
 * The file that a thread runs posts one message when it is ready, and then answers each task with one message.
 */
import { Worker } from 'node:worker_threads';

export interface ThreadPoolOptions {
  file: URL;
  /** At least two: one owner may hold all but one of them. */
  threads: number;
  deadlineMs: number;
  memoryMb: number;
  /** Tasks that wait, for each owner. */
  mostWaiting: number;
  idleMs?: number;
  /** Told of each thread that had to be stopped. */
  onStopped?: (stopped: ThreadStopped, owner: string) => void;
}

/** The task did not come to its end. */
export class ThreadStopped extends Error {
  readonly reason: 'deadline' | 'memory' | 'crash';

  constructor(reason: ThreadStopped['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** The owner has as many tasks waiting as it may. */
export class ThreadsBusy extends Error {}

interface Task {
  owner: string;
  payload: unknown;
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
}

interface Thread {
  worker: Worker;
  task: Task | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** How long a thread may take to read its program: generous, as nobody else waits for it. */
const startMs = 30_000;
const defaultIdleMs = 60_000;

export class ThreadPool {
  readonly #options: ThreadPoolOptions;
  readonly #threads = new Set<Thread>();
  /** By owner, in the order in which they take turns. */
  readonly #waiting = new Map<string, Task[]>();
  #isClosed = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
  }

  /** Rejects with ThreadStopped or ThreadsBusy. */
  run<Answer>(owner: string, payload: unknown): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#isClosed) return reject(new ThreadsBusy('the threads have been closed'));
      const waiting = this.#waiting.get(owner) ?? [];
      if (waiting.length >= this.#options.mostWaiting) {
        return reject(new ThreadsBusy(`more than ${this.#options.mostWaiting} tasks wait for a thread`));
      }
      waiting.push({ owner, payload, resolve: resolve as Task['resolve'], reject });
      this.#waiting.set(owner, waiting);
      this.#assign();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const tasks = [...[...this.#waiting.values()].flat(), ...[...this.#threads].flatMap(({ task }) => task ?? [])];
    this.#waiting.clear();
    const threads = [...this.#threads];
    this.#threads.clear();
    for (const thread of threads) clearTimeout(thread.timer);
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
    for (const task of tasks) task.reject(new ThreadStopped('crash', 'the threads have been closed'));
  }

  #assign(): void {
    for (;;) {
      const idle = [...this.#threads].find(({ task }) => !task);
      if (!idle && this.#threads.size >= this.#options.threads) return;
      const task = this.#next();
      if (!task) return;
      if (idle) this.#post(idle, task);
      else this.#start(task);
    }
  }

  /** Of the owner whose turn it is; whoever has had a turn goes to the end of the line. */
  #next(): Task | undefined {
    for (const [owner, tasks] of this.#waiting) {
      const held = [...this.#threads].filter(({ task }) => task?.owner === owner).length;
      if (held >= Math.max(1, this.#options.threads - 1)) continue;
      this.#waiting.delete(owner);
      const task = tasks.shift();
      if (tasks.length > 0) this.#waiting.set(owner, tasks);
      return task;
    }
    return undefined;
  }

  #start(task: Task): void {
    const { file, memoryMb } = this.#options;
    const { NODE_COMPILE_CACHE: compileCache } = process.env;
    const worker = new Worker(file, {
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
      // Neither secrets of the environment nor the flags of the main program.
      env: compileCache === undefined ? {} : { NODE_COMPILE_CACHE: compileCache },
      execArgv: [],
    });
    const thread: Thread = { worker, task, timer: undefined };
    this.#threads.add(thread);
    thread.timer = setTimeout(
      () => this.#stop(thread, new ThreadStopped('deadline', 'a thread did not start')),
      startMs,
    );
    worker.once('message', () => {
      worker.on('message', answer => this.#settle(thread, answer));
      this.#post(thread, task);
    });
    worker.on('error', error => {
      const isMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
      const message = isMemory ? `took more than ${memoryMb} MB of memory` : `the thread failed: ${error.message}`;
      this.#stop(thread, new ThreadStopped(isMemory ? 'memory' : 'crash', message, error));
    });
    worker.on('exit', () => this.#stop(thread, new ThreadStopped('crash', 'the thread ended')));
  }

  #post(thread: Thread, task: Task): void {
    const { deadlineMs } = this.#options;
    clearTimeout(thread.timer);
    thread.task = task;
    thread.worker.ref();
    const late = () => this.#stop(thread, new ThreadStopped('deadline', `takes longer than ${deadlineMs} ms`));
    thread.timer = setTimeout(late, deadlineMs);
    try {
      thread.worker.postMessage(task.payload);
    } catch (error) {
      this.#settle(thread, undefined, error as Error);
    }
  }

  #settle(thread: Thread, answer: unknown, error?: Error): void {
    const { task } = thread;
    clearTimeout(thread.timer);
    thread.task = undefined;
    thread.worker.unref();
    thread.timer = setTimeout(() => this.#end(thread), this.#options.idleMs ?? defaultIdleMs).unref();
    if (error) task?.reject(error);
    else task?.resolve(answer);
    this.#assign();
  }

  #stop(thread: Thread, stopped: ThreadStopped): void {
    if (!this.#threads.has(thread)) return;
    const { task } = thread;
    this.#end(thread);
    if (task) this.#options.onStopped?.(stopped, task.owner);
    task?.reject(stopped);
    this.#assign();
  }

  #end(thread: Thread): void {
    clearTimeout(thread.timer);
    this.#threads.delete(thread);
    void thread.worker.terminate();
  }
}
