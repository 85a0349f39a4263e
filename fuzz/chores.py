"""What a campaign does beside its slices and must not wait for: shrinking a finding, merging a corpus. One after another, on a thread."""

import queue
import threading
import traceback

import engine


class Chores:
    def __init__(self):
        self.waiting, self.lock = queue.Queue(), threading.Lock()
        self.names = []  # of those that wait or run, first the one that runs
        self.done = []
        threading.Thread(target=self.work, daemon=True).start()

    def add(self, name, do, then):
        """do() runs on the thread; then(its result) is among what finished() returns."""
        with self.lock:
            self.names.append(name)
        self.waiting.put((do, then))

    def work(self):
        while True:
            do, then = self.waiting.get()
            try:
                result, error = do(), None
            except Exception:  # told by the loop: a thread's own trace would be lost in a log of hours
                result, error = None, traceback.format_exc()
            with self.lock:
                self.names.pop(0)
                self.done.append((then, result, error))

    def finished(self):
        """(then, result, error) of what came to its end since the last call."""
        with self.lock:
            done, self.done = self.done, []
        return done

    def pending(self):
        with self.lock:
            return list(self.names)

    def stop(self):
        """Ends what runs; what waits is not begun. All of it can be done anew from what lies in the campaign's folder."""
        while not self.waiting.empty():
            try:
                self.waiting.get_nowait()
            except queue.Empty:
                break
        engine.call.stop()
