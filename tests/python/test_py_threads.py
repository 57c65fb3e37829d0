# SPDX-License-Identifier: Apache-2.0
"""Threads: what each records is its own, under its own name."""


def test_each_thread_has_its_spans_and_its_name(record, python_path):
    run = record(
        """
        import threading

        def work(number):
            for _ in range(1000):
                with gait.span("outer %d" % number):
                    with gait.span("inner %d" % number):
                        pass

        threads = [threading.Thread(target=work, args=(n,), name="worker %d" % n) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with gait.span("main"):
            pass
        with gait.open(gait.shard_path()) as trace:  # before it is complete
            pass
        """,
        GAIT_OVERFLOW="block",
    )
    by_thread = {}
    for span in run.events("span"):
        by_thread.setdefault(span["tid"], []).append(span)
    assert len(by_thread) == 5
    for spans in by_thread.values():
        if spans[0]["name"] == "main":
            continue
        number = spans[0]["name"].split()[-1]
        assert [s["name"] for s in spans] == [f"outer {number}", f"inner {number}"] * 1000
        assert all(run.is_inside(i, o) for o, i in zip(spans[::2], spans[1::2]))


def test_threads_are_called_what_threading_calls_them(record, trace_of):
    run = record(
        """
        import _thread, concurrent.futures, threading

        def record():
            gait.mark("here")

        gait.mark("here")
        thread = threading.Thread(target=record, name="Größe")
        thread.start()
        thread.join()
        with concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
            pool.submit(record).result()

        def renamed():
            gait.thread_name("chosen")
            gait.mark("here")
        thread = threading.Thread(target=renamed, name="given")
        thread.start()
        thread.join()

        done = threading.Event()
        def foreign():  # a thread that `threading` does not know
            gait.mark("here")
            done.set()
        before = len(threading.enumerate())
        _thread.start_new_thread(foreign, ())
        done.wait()
        assert not [t for t in threading.enumerate() if isinstance(t, threading._DummyThread)]
        """
    )
    names = [track["name"] for track in trace_of(run).tracks if not track["internal"]]
    assert len(names) == 5
    assert {"MainThread", "Größe", "pool_0", "chosen"} < set(names)
    assert not [name for name in names if name.startswith(("Dummy", "given"))]


def track_names(trace_of, run):
    return {track["name"] for track in trace_of(run).tracks if not track["internal"]}


def test_threads_have_the_last_of_their_names(record, trace_of):
    run = record(
        """
        import concurrent.futures, threading, weakref
        told, pause = threading.Event(), threading.Event()

        def renamed_by_itself():
            gait.mark("here")
            threading.current_thread().name = "at its end"
        def renamed_by_another():
            gait.mark("here")
            told.set()
            pause.wait()
        def chosen():
            gait.mark("here")
            gait.thread_name("chosen")
            threading.current_thread().name = "not this one"

        for work in renamed_by_itself, chosen:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        gone = weakref.ref(thread)
        del thread
        print(gone() is None)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(renamed_by_itself).result()
            pool.submit(setattr, *pool._threads, "name", "x" * 5000).result()
        thread = threading.Thread(target=renamed_by_another, daemon=True)
        thread.start()
        told.wait()
        thread.name = "by another \\x1b[2J\\ud800"
        gait.mark("here")
        threading.main_thread().name = "the main one"
        """
    )
    assert run.stdout == "True\n", "a thread that has ended is kept for nothing"
    names = track_names(trace_of, run)
    assert {"at its end", "chosen", "the main one", "x" * 1000} < names
    assert len(names) == 5 and [name for name in names if name.startswith("by another")]


def test_a_thread_that_records_from_c_alone_has_its_name(record, trace_of):
    run = record(
        """
        import ctypes, os, threading
        lib = ctypes.CDLL(os.path.join(os.path.dirname(gait.__file__), "libgait.so"))
        site = lib.gait_site(b"c", b"here")
        told, pause = threading.Event(), threading.Event()

        def work():
            lib.gait_mark(site)  # without the GIL
            told.set()
            pause.wait()

        gait.mark("here")
        thread = threading.Thread(target=work, name="records from C")
        thread.start()
        told.wait()
        gait.mark("here")
        pause.set()
        thread.join()
        """
    )
    assert track_names(trace_of, run) == {"MainThread", "records from C"}


def test_threads_keep_their_names_in_the_next_recording(record, trace_of, tmp_path):
    run = record(
        """
        import sys, threading
        go, done = threading.Semaphore(0), threading.Semaphore(0)

        def work():
            for _ in range(2):
                go.acquire()
                gait.mark("here")
                done.release()

        thread = threading.Thread(target=work, name="lasting")
        thread.start()
        for directory in sys.argv[1:]:
            assert gait.start(directory)
            go.release()
            done.acquire()
            assert gait.stop()
        thread.join()
        """,
        str(tmp_path / "other"),
        str(tmp_path / "run"),
        recording=False,
    )
    assert "lasting" in [track["name"] for track in trace_of(run).tracks]


def test_threading_is_not_imported_for_a_name(record):
    run = record(
        """
        import sys
        gait.mark("x")
        print("threading" in sys.modules)
        """,
        options=["-S"],
    )
    assert run.stdout == "False\n"
    assert run.names("mark") == ["x"]


def test_spans_during_thread_birth_and_death(record):
    run = record(
        """
        import threading
        def work():
            with gait.span("short"):
                pass
        for _ in range(50):
            threads = [threading.Thread(target=work) for _ in range(20)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        """,
        GAIT_OVERFLOW="block",
    )
    assert len(run.events("span", "short")) == 1000


def test_a_profile_function_that_records(record):
    run = record(
        """
        import sys, threading
        def profile(frame, event, arg):
            if frame.f_code.co_name == "watched":
                gait.mark(event)
        threading.setprofile(profile)
        def watched():
            pass
        thread = threading.Thread(target=watched)
        thread.start()
        thread.join()
        """
    )
    assert run.names("mark") == ["call", "return"]
