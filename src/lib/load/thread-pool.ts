/**
 * A few threads for work that cannot be interrupted from inside. Each task has a limit of CPU time and each thread one of
 * memory: a thread that exceeds either is stopped and replaced, and only the task's owner is affected. Owners take turns, and
 * none can hold all threads at once. Threads start when they are first needed and end after an idle period.
 *
 * The file that a thread runs posts one message when it is ready, and then one message per task.
 */
import { Worker } from 'node:worker_threads';

export interface ThreadPoolOptions {
  file: URL;
  /** At least two: one owner may hold all but one of them. */
  threads: number;
  /** Maximum CPU time of a task. On a busy machine, it may take `maxSlowdown` times as long. */
  cpuMs: number;
  memoryMb: number;
  /** Maximum waiting tasks per owner. */
  maxWaiting: number;
  idleMs?: number;
  /** Called for each thread that had to be stopped. */
  onStopped?: (stopped: ThreadStoppedError, owner: string) => void;
}

/** The thread was stopped before the task was done. */
export class ThreadStoppedError extends Error {
  readonly reason: 'cpu' | 'memory' | 'overload' | 'crash';

  constructor(reason: ThreadStoppedError['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** The owner has too many waiting tasks. */
export class ThreadsBusyError extends Error {}

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
  /** CPU time before the task. */
  usage: Promise<NodeJS.CpuUsage> | undefined;
}

const maxSlowdown = 15;
/** How long a thread may take to start: generous, as only its first task waits for it. */
const startMs = 30_000;
const defaultIdleMs = 60_000;

export class ThreadPool {
  readonly #options: ThreadPoolOptions;
  readonly #threads = new Set<Thread>();
  /** Waiting tasks by owner, in the order of their turns. */
  readonly #waiting = new Map<string, Task[]>();
  #isClosed = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
  }

  /** Rejects with ThreadStoppedError or ThreadsBusyError. */
  run<Answer>(owner: string, payload: unknown): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#isClosed) return reject(new ThreadsBusyError('the threads have been closed'));
      const waiting = this.#waiting.get(owner) ?? [];
      if (waiting.length >= this.#options.maxWaiting) {
        return reject(new ThreadsBusyError(`more than ${this.#options.maxWaiting} tasks wait for a thread`));
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
    for (const task of tasks) task.reject(new ThreadStoppedError('crash', 'the threads have been closed'));
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

  /** Takes a task of the owner whose turn it is; that owner then goes to the end of the queue. */
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
      // The thread gets neither the secrets in the environment nor the flags of the main process.
      env: compileCache === undefined ? {} : { NODE_COMPILE_CACHE: compileCache },
      execArgv: [],
    });
    const thread: Thread = { worker, task, timer: undefined, usage: undefined };
    this.#threads.add(thread);
    thread.timer = setTimeout(
      () => this.#stop(thread, new ThreadStoppedError('overload', 'a thread did not start')),
      startMs,
    );
    let isReady = false;
    worker.once('message', () => {
      isReady = true;
      worker.on('message', answer => this.#settle(thread, answer));
      this.#post(thread, task);
    });
    worker.on('error', error => {
      const isMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
      // Such as for want of a file descriptor: the task is not the cause.
      if (!isReady && !isMemory) {
        return this.#stop(
          thread,
          new ThreadStoppedError('overload', `a thread did not start: ${error.message}`, error),
        );
      }
      const message = isMemory ? `took more than ${memoryMb} MB of memory` : `the thread failed: ${error.message}`;
      this.#stop(thread, new ThreadStoppedError(isMemory ? 'memory' : 'crash', message, error));
    });
    worker.on('exit', () => this.#stop(thread, new ThreadStoppedError('crash', 'the thread ended')));
  }

  #post(thread: Thread, task: Task): void {
    const { cpuMs } = this.#options;
    clearTimeout(thread.timer);
    thread.task = task;
    thread.worker.ref();
    const startedAt = performance.now();
    thread.usage = thread.worker.cpuUsage();
    thread.usage.catch(() => {});
    thread.timer = setTimeout(() => void this.#checkUsage(thread, task, startedAt), cpuMs);
    try {
      thread.worker.postMessage(task.payload);
    } catch (error) {
      this.#settle(thread, undefined, error as Error);
    }
  }

  /** Stops a task that used up its CPU time; one that did not get it from the machine goes on for a while. */
  async #checkUsage(thread: Thread, task: Task, startedAt: number): Promise<void> {
    const { cpuMs } = this.#options;
    const { user, system } = await thread.worker.cpuUsage(await thread.usage).catch(() => ({ user: 0, system: 0 }));
    if (thread.task !== task) return;
    const leftMs = cpuMs - (user + system) / 1_000;
    if (leftMs <= 0) return this.#stop(thread, new ThreadStoppedError('cpu', `takes longer than ${cpuMs} ms`));
    if (performance.now() - startedAt > maxSlowdown * cpuMs) {
      return this.#stop(thread, new ThreadStoppedError('overload', 'got too little CPU time from the machine'));
    }
    thread.timer = setTimeout(() => void this.#checkUsage(thread, task, startedAt), Math.max(leftMs, cpuMs / 10));
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

  #stop(thread: Thread, stopped: ThreadStoppedError): void {
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
