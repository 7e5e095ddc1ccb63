// What TypeScript does not know of the page scripts' globals: what Python gives them (`linked`), what pages
// of MiniWoB++ have, and properties that only some elements and events have, which scripts look for in any.
declare const Constants: Record<string, any>;
declare const core: any, genProblem: any, task: any;
declare const WOB_DONE_GLOBAL: boolean, WOB_RAW_REWARD_GLOBAL: number, WOB_TASK_READY: boolean;
interface Event { [name: string]: any }
interface EventTarget { [name: string]: any }
interface Math { seedrandom(seed: number): void }
interface CustomEventInit { __proto__?: null }
interface ProxyHandler<T extends object> { __proto__?: null }
interface UnderlyingByteSource { __proto__?: null }
