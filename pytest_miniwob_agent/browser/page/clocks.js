// What tells the time beside `Date` and timers, and makes random numbers beside `Math.random`, in a page or
// a worker of your own or of an app.

// Have it tell the time that a function returns, in ms as `Date` has it, and draw from `Math.random`.
export const follow = (now, began) => {
  const { Object, performance } = self;
  const { floor } = self.Math;
  const { construct } = self.Reflect;
  Object.defineProperty(performance, "timeOrigin", { value: began });
  Object.defineProperty(Event.prototype, "timeStamp", { get: () => now() - began });
  const { mark, measure } = performance;
  performance.mark = (name, more) => mark.call(performance, name, { startTime: now() - began, ...more });
  performance.measure = (name, from, to) => {
    const more = typeof from === "object" ? from : { start: from, end: to };
    const ends = more?.end !== undefined || more?.duration !== undefined;
    return measure.call(performance, name, ends ? more : { ...more, end: now() - began });
  };
  // What the browser has measured itself by real time, such as the loading of the page, took none. A time of
  // 0 means that it has not happened yet, so what has happened gets the smallest time that a page is told.
  const given = /^(mark|measure)$/;
  const measured = (name, time, real) => {
    if (name === "Notification") return now();
    if (time === "duration") return 0;
    if (time === "navigationId") return 1; // drawn at random
    return real && (name === "PerformanceTiming" ? began : 0.1);
  };
  const names = "LargestContentfulPaint LayoutShift Notification PerformanceElementTiming PerformanceEntry "
    + "PerformanceEventTiming PerformanceLongAnimationFrameTiming PerformanceLongTaskTiming "
    + "PerformanceNavigationTiming PerformancePaintTiming PerformanceResourceTiming "
    + "PerformanceScriptTiming PerformanceTiming VisibilityStateEntry";
  for (const name of names.split(" ").filter((one) => self[one])) {
    const { prototype } = self[name];
    const { toJSON } = prototype;
    const times = Object.getOwnPropertyNames(prototype).filter((one) =>
      /(start|end|time|timestamp|duration|interactive|loading|complete|navigationId)$/i.test(one));
    for (const time of times) {
      const { get } = Object.getOwnPropertyDescriptor(prototype, time);
      if (get) Object.defineProperty(prototype, time, { get() {
        const real = get.call(this);
        return given.test(this.entryType) && time !== "navigationId" ? real : measured(name, time, real);
      } });
    }
    if (Object.hasOwn(prototype, "toJSON")) prototype.toJSON = function () {
      const found = toJSON.call(this);
      for (const time of Object.keys(found)) found[time] = this[time];
      return found;
    };
  }
  self.File = new Proxy(File, { __proto__: null, construct: (target, { 0: parts, 1: name, 2: more }, made) =>
    construct(target, [parts, name, { lastModified: now(), ...more }], made) });
  const formats = Intl.DateTimeFormat.prototype;
  const { get: formatOf } = Object.getOwnPropertyDescriptor(formats, "format");
  Object.defineProperty(formats, "format", {
    get() {
      const format = formatOf.call(this);
      return (date = now()) => format(date);
    },
  });
  const { formatToParts } = formats;
  formats.formatToParts = function (date = now()) { return formatToParts.call(this, date); };
  if (self.Temporal) {
    const instant = () => Temporal.Instant.fromEpochMilliseconds(now());
    const zonedDateTimeISO = (zone = "UTC") => instant().toZonedDateTimeISO(zone);
    Object.assign(Temporal.Now, {
      instant,
      zonedDateTimeISO,
      plainDateTimeISO: (zone) => zonedDateTimeISO(zone).toPlainDateTime(),
      plainDateISO: (zone) => zonedDateTimeISO(zone).toPlainDate(),
      plainTimeISO: (zone) => zonedDateTimeISO(zone).toPlainTime(),
    });
  }
  const DIGITS = "0123456789abcdef";
  crypto.getRandomValues = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let at = 0; at < bytes.length; at++) bytes[at] = self.Math.random() * 256;
    return array;
  };
  if (crypto.randomUUID) crypto.randomUUID = () => {
    /** @type {any} */
    let uuid = "";
    for (let at = 0; at < 16; at++) {
      const byte = floor(self.Math.random() * 256);
      if (at === 4 || at === 6 || at === 8 || at === 10) uuid += "-";
      uuid += ({ 6: "4", 8: "a" }[at] ?? DIGITS[byte >> 4]) + DIGITS[byte & 15];
    }
    return uuid;
  };
};
